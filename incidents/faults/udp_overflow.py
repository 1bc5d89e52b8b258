"""A collector of statistics reads its UDP socket too slowly: the kernel drops what does not fit.

Source: the counter RcvbufErrors of /proc/net/snmp; udp(7).
"""

import socket
import time

CAUSE = "collector reads too slowly: datagrams to port 8125 overflow its socket's buffer"
NAMED = r"(udp|UDP|datagram).*(8125|collector|buffer)"
BLAMED = ""
MOVED = r"udp|UDP|datagram|collector"


def play(scene):
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    door.bind(("127.0.0.1", 8125))
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def collect():
        door.recv(2000)
        if scene.is_bad:
            time.sleep(0.02)

    def count():
        out.sendto(b"requests:1|c" * 20, ("127.0.0.1", 8125))
        time.sleep(0.002)

    scene.fork("collector", collect)
    scene.fork("shop", count)
    with scene.recording():
        time.sleep(1)

"""A client opens a connection for each question and closes it first: TIME_WAIT holds all the local ports that it may have.

Source: RFC 9293, 3.6.1; ip-sysctl.rst: ip_local_port_range.
"""

import socket
import time
from pathlib import Path

CAUSE = "client has no local port left: its closed connections to 127.0.0.1:9000 hold them in TIME_WAIT"
NAMED = r"(client|local).*port|EADDRNOTAVAIL"
BLAMED = ""
MOVED = r"EADDRNOTAVAIL|port|failing_calls"


def play(scene):
    Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40019" if scene.is_bad else "32768 60999")
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(128)

    def serve():
        with door.accept()[0] as link:
            link.sendall(b"ok")
            link.recv(10)

    def ask():
        try:
            with socket.create_connection(("127.0.0.1", 9000), 1) as link:
                link.recv(10)
        finally:
            time.sleep(0.02)

    scene.fork("server", serve)
    scene.fork("client", ask)
    with scene.recording():
        time.sleep(1)

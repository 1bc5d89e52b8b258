"""A server accepts too slowly, and its queue of connections is full: the kernel drops new ones.

Source: listen(2); the counters ListenOverflows and ListenDrops of /proc/net/netstat.
"""

import socket
import time

CAUSE = "server accepts too slowly: its listen queue is full"
NAMED = r"listen_overflow|backlog"
BLAMED = ""
MOVED = r"listen_overflow|connect"


def play(scene):
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(4 if scene.is_bad else 128)

    def serve():
        link, _ = door.accept()
        link.recv(100)
        link.sendall(b"ok")
        link.close()
        time.sleep(0.2 if scene.is_bad else 0.001)

    def ask():
        with socket.create_connection(("127.0.0.1", 9000), 10) as link:
            link.sendall(b"hello")
            link.recv(100)
        time.sleep(0.05)

    scene.fork("server", serve)
    scene.fork("client", ask, count=16)
    with scene.recording():
        time.sleep(1)

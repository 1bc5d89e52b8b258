"""A server has used up its descriptors: accept fails with EMFILE, and it tries again all the time.

Source: accept(2), EMFILE; setrlimit(2).
"""

import resource
import socket
import time

CAUSE = "server has no descriptor left: accept4 fails with EMFILE"
NAMED = r"server.*(EMFILE|descriptors)"
BLAMED = ""
MOVED = r"EMFILE|failing_calls|fd_leak"


def play(scene):
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(128)
    kept = []

    def serve():
        if scene.is_bad:
            resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        try:
            link, _ = door.accept()
        except OSError:
            time.sleep(0.01)
            raise
        if scene.is_bad:
            kept.append(link)
        else:
            link.sendall(b"ok")
            link.close()

    def ask():
        with socket.create_connection(("127.0.0.1", 9000), 1) as link:
            link.recv(10)
        time.sleep(0.02)

    scene.fork("server", serve)
    scene.fork("client", ask, count=4)
    with scene.recording():
        time.sleep(1)

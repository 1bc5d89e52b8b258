"""memcached has as many connections as it may: it accepts no more, and new clients wait.

Source: memcached manual, -c: "max simultaneous connections"; stats listen_disabled_num.
"""

import socket
import time

CAUSE = "memcached takes no more connections than its limit: new ones wait in its accept queue"
NAMED = r"memcached"
BLAMED = r"^web .*(memcached|11211)"
MOVED = r"memcached|11211"


def play(scene):
    scene.start("memcached", "-u", "root", "-l", "127.0.0.1", "-c", "20" if scene.is_bad else "1000", "-t", "2")
    scene.wait_port(11211)
    kept = [socket.create_connection(("127.0.0.1", 11211)) for _ in range(14)]
    for link in kept:
        link.sendall(b"get a\r\n")
    scene.fork("idle", lambda: time.sleep(1))

    def ask() -> None:
        with socket.create_connection(("127.0.0.1", 11211), timeout=2) as link:
            link.sendall(b"get a\r\n")
            link.recv(100)
            time.sleep(0.2)

    scene.fork("web", ask, count=8)
    with scene.recording():
        time.sleep(1)

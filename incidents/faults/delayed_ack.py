"""A client writes a request in two pieces without TCP_NODELAY: the second waits for the acknowledgement of the first, 40 ms.

Source: John Nagle's remark on news.ycombinator.com/item?id=9048947; RFC 1122, 4.2.3.2.
"""

import socket
import time

from programs import redis

CAUSE = "client writes its requests in two pieces: Nagle's algorithm and delayed acknowledgements"
NAMED = r"delayed_ack.*client"
BLAMED = r"^client .*(127\.0\.0\.1:6379|network redis-server)"
MOVED = r"client"


def play(scene):
    redis(scene)
    link = []

    def ask():
        if not link:
            link.append(socket.create_connection(("127.0.0.1", 6379)))
            link[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0 if scene.is_bad else 1)
            link[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        link[0].sendall(b"*2\r\n$3\r\nGET\r\n")
        link[0].sendall(b"$5\r\nkey:1\r\n")
        link[0].recv(1000)
        time.sleep(0.005)

    scene.fork("client", ask)
    with scene.recording():
        time.sleep(1)

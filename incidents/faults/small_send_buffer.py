"""A server has a send buffer of 8 kB: on a way of 20 ms there and back it sends as much, and then waits until it has arrived.

Source: socket(7), SO_SNDBUF; tcp(7), tcp_wmem; RFC 7323, 1.1: the product of bandwidth and delay.
"""

import socket
import threading
import time

from programs import wire

CAUSE = "the send buffer of pages' sockets is 8 kB: each piece of an answer waits until the one before has arrived"
NAMED = r"pages.*send buffer|send buffer.*pages"
BLAMED = r"^(client|pages) .*(send buffer|\bsend)"
MOVED = r"send buffer|pages.*\bsend"
FELT = True


def play(scene):
    def start_far():
        door = socket.socket()
        if scene.is_bad:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        door.bind(("10.8.0.2", 9000))
        door.listen(16)
        links = {}

        def serve():
            me = threading.get_ident()
            link = links.get(me) or links.setdefault(me, door.accept()[0])
            if not link.recv(100):
                links.pop(me).close()
                return
            link.sendall(b"x" * 300_000)

        scene.fork("pages", serve, count=3)

    wire(scene, start_far, delay_s=0.01)
    scene.wait(lambda: socket.create_connection(("10.8.0.2", 9000), 1).close(), "pages")
    links = {}

    def ask():
        me = threading.get_ident()
        link = links.get(me) or links.setdefault(me, socket.create_connection(("10.8.0.2", 9000)))
        with scene.clock.asking():
            link.sendall(b"page")
            left = 300_000
            while left:
                left -= len(link.recv(65536)) or left
        time.sleep(0.02)

    scene.fork("client", ask, count=2)
    with scene.recording():
        time.sleep(1)

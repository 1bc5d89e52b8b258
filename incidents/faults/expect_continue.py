"""A client asks before it sends a large body ("Expect: 100-continue"), and waits a second for a word that the server never says.

Source: RFC 9110, 10.1.1; libcurl's CURLOPT_EXPECT_100_TIMEOUT_MS: it waits 1000 ms before it sends the body all the same.
"""

import select
import socket
import time

CAUSE = "uploader waits 1 s for a '100 Continue' that server (127.0.0.1:9000) does not send"
NAMED = r"uploader.*(without an answer|time).*(9000|server)|uploader.*(9000|server).*(without an answer|time)"
BLAMED = r"^uploader .*(timeout|poll)"
MOVED = r"uploader.*(poll|time|server)"
FELT = True


def play(scene):
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(128)

    def serve():
        link, _ = door.accept()
        with link:
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    part = link.recv(4096)
                    if not part:
                        return
                    head += part
                if not scene.is_bad:
                    link.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                head, _, body = head.partition(b"\r\n\r\n")
                left = 300_000 - len(body)
                while left > 0:
                    left -= len(link.recv(65536))
                link.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

    links = {}

    def upload():
        link = links.get(0) or links.setdefault(0, socket.create_connection(("127.0.0.1", 9000)))
        with scene.clock.asking():
            link.sendall(b"PUT /photo HTTP/1.1\r\nContent-Length: 300000\r\nExpect: 100-continue\r\n\r\n")
            poll = select.poll()
            poll.register(link, select.POLLIN)
            if poll.poll(1000):
                link.recv(4096)
            link.sendall(b"x" * 300_000)
            link.recv(4096)
        time.sleep(0.1)

    for _ in range(3):
        scene.fork("server", serve)
    for _ in range(3):
        scene.fork("uploader", upload)
    with scene.recording():
        time.sleep(1)

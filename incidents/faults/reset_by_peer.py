"""A service closes one connection in three with a reset instead of an answer.

Source: tcp(7), ECONNRESET; RFC 9293, 3.5.2: reset generation.
"""

import socket
import struct
import time

from programs import web_clients

CAUSE = "the service at 127.0.0.1:9000 resets connections of client"
NAMED = r"client.*(ECONNRESET|reset)"
MOVED = r"client.*(ECONNRESET|reset)"


def play(scene):
    listener = socket.create_server(("127.0.0.1", 9000))
    count = [0]

    def serve():
        link, _ = listener.accept()
        count[0] += 1
        link.recv(1000)
        if scene.is_bad and count[0] % 3 == 0:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        link.close()

    scene.fork("server", serve, count=2)
    web_clients(scene, "http://127.0.0.1:9000/", count=3, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

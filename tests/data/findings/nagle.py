"""A client whose request goes in two small writes, over loopback TCP: `nagle.py` stalls, `nagle.py nodelay` does not.

`nagle.py far` asks peer200.py instead."""

import socket
import sys
import threading
import time

REQUESTS = 25
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()


def serve():
    connection, _ = server.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(REQUESTS):
        got = b""
        while len(got) < 120:
            got += connection.recv(4096)
        connection.sendall(b"x" * 200)


threading.Thread(target=serve, daemon=True).start()
client = socket.create_connection(("10.9.0.2", 7777) if "far" in sys.argv else server.getsockname())
if "nodelay" in sys.argv:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(REQUESTS):
    client.send(b"h" * 100)
    client.send(b"b" * 20)
    client.recv(4096)
    time.sleep(0.002)
time.sleep(0.5)

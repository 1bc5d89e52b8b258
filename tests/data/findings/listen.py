"""Clients come in bursts: `listen.py` has room for one connection and accepts late, `listen.py room` has room for all."""

import contextlib
import socket
import sys
import threading
import time

server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(64 if "room" in sys.argv else 1)
clients = []


def connect():
    client = socket.socket()
    client.settimeout(6)
    try:
        client.connect(server.getsockname())
        client.send(b"x")
    except OSError:
        pass
    clients.append(client)


threads = [threading.Thread(target=connect) for _ in range(12)]
for t in threads:
    t.start()
time.sleep(2.5)
server.settimeout(0.5)
end = time.monotonic() + 2
while time.monotonic() < end:
    with contextlib.suppress(OSError):
        clients.append(server.accept()[0])

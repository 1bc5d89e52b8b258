"""A server sends 20 MB to a client that reads 50 kB each 10 ms. `film.py quick`: it reads as fast as it can, 10 times."""

import os
import socket
import sys
import time

SIZE = 20_000_000


def main():
    listener = socket.create_server(("127.0.0.1", 9000))
    server = os.fork()
    if server == 0:
        while True:
            with listener.accept()[0] as peer:
                peer.recv(10)
                peer.sendall(b"x" * SIZE)
    for _ in range(10 if "quick" in sys.argv else 1):
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        link.connect(("127.0.0.1", 9000))
        link.send(b"film")
        left = SIZE
        while left:
            left -= len(link.recv(50_000))
            if "quick" not in sys.argv:
                time.sleep(0.01)
        link.close()
        time.sleep(0.1)
    os.kill(server, 9)


main()

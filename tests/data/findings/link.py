"""A client asks a server for 20,000 bytes again and again, over the loopback device of its network namespace; a tbf on it makes that slow."""

import os
import socket
import time

SIZE = 20_000


def serve(listener):
    peer = listener.accept()[0]
    while peer.recv(10):
        peer.sendall(b"x" * SIZE)


def main():
    listener = socket.create_server(("127.0.0.1", 9000))
    server = os.fork()
    if server == 0:
        serve(listener)
    end = time.monotonic() + 4
    with socket.create_connection(("127.0.0.1", 9000)) as connection:
        while time.monotonic() < end:
            connection.send(b"work")
            left = SIZE
            while left:
                left -= len(connection.recv(left))
            time.sleep(0.01)
    os.kill(server, 9)


main()

"""A client connects 150 times to a server and closes first, where 100 local ports are all there are. `ports.py one`: it keeps one connection."""

import os
import socket
import sys
import time


def serve(listener):
    while True:
        peer = listener.accept()[0]
        while peer.recv(10):
            peer.send(b"done")
        peer.close()


def ask(connection):
    connection.send(b"work")
    connection.recv(10)


def main():
    listener = socket.create_server(("10.9.0.1", 80))
    server = os.fork()
    if server == 0:
        serve(listener)
    kept = socket.create_connection(("10.9.0.1", 80)) if "one" in sys.argv else None
    for _ in range(150):
        try:
            if kept:
                ask(kept)
            else:
                with socket.create_connection(("10.9.0.1", 80)) as connection:
                    ask(connection)
        except OSError:
            pass
        time.sleep(0.01)
    os.kill(server, 9)


main()

"""A server that answers 60 requests in turn. `spawn.py each`: it starts a program for each; `spawn.py once`: for the first only."""

import os
import socket
import subprocess
import sys
import time

REQUESTS = 60


def client(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(REQUESTS):
            connection.send(b"when")
            connection.recv(100)


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        client(listener.getsockname()[1])
        os._exit(0)
    peer = listener.accept()[0]
    told = b""
    while peer.recv(100):
        if "each" in sys.argv or not told:
            told = subprocess.check_output(["/bin/date"])
        else:
            time.sleep(0.005)
        peer.send(told)


main()

"""A process sends 20 datagrams each 10 ms, another reads them. `datagrams.py slow`: it reads one each 2 ms, into a small buffer."""

import os
import socket
import sys
import time

SLOW = "slow" in sys.argv
END = time.monotonic() + 2.5


def send(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        while time.monotonic() < END:
            for _ in range(20):
                sender.send(b"x" * 500)
            time.sleep(0.01)


def main():
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if SLOW:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(0.5)
    if os.fork() == 0:
        send(receiver.getsockname()[1])
        os._exit(0)
    try:
        while receiver.recv(1000):
            if SLOW:
                time.sleep(0.002)
    except TimeoutError:
        pass


main()

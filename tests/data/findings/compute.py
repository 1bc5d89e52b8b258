"""Four clients and a server of one thread on epoll. `compute.py slow`: one request in five of the first client computes 0.2 s."""

import os
import select
import socket
import sys
import time

END = time.monotonic() + 1.6


def compute(seconds):
    until = time.monotonic() + seconds
    x = 1
    while time.monotonic() < until:
        x = x * 1103515245 % 2147483647


def client(port, number):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        count = 0
        while time.monotonic() < END:
            count += 1
            slow = "slow" in sys.argv and number == 0 and count % 5 == 0
            connection.send(b"slow" if slow else b"fast")
            connection.recv(100)
            time.sleep(0.03)


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    for number in range(4):
        if os.fork() == 0:
            client(listener.getsockname()[1], number)
            os._exit(0)
    epoll = select.epoll()
    epoll.register(listener.fileno(), select.EPOLLIN)
    peers = {}
    while time.monotonic() < END + 0.5:
        for fd, _ in epoll.poll(1):
            if fd == listener.fileno():
                peer = listener.accept()[0]
                peers[peer.fileno()] = peer
                epoll.register(peer.fileno(), select.EPOLLIN)
            elif asked := peers[fd].recv(100):
                compute(0.2 if asked == b"slow" else 0.0005)
                peers[fd].send(b"done")
            else:
                peers.pop(fd).close()


main()

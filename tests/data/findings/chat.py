"""A server asks a store 40 times for each of 60 requests, one question after the other. `chat.py once`: it asks once for all."""

import os
import socket
import sys
import time


def answer(listener, work):
    while True:
        with listener.accept()[0] as peer:
            while peer.recv(1000):
                work()
                peer.send(b"done")


def main():
    store = socket.create_server(("127.0.0.1", 9001))
    shop = socket.create_server(("127.0.0.1", 9000))
    children = [os.fork()]
    if children[0] == 0:
        answer(store, lambda: None)
    children.append(os.fork())
    if children[1] == 0:
        link = socket.create_connection(("127.0.0.1", 9001))

        def work():
            for _ in range(1 if "once" in sys.argv else 40):
                link.send(b"key")
                link.recv(100)

        answer(shop, work)
    with socket.create_connection(("127.0.0.1", 9000)) as link:
        for _ in range(60):
            link.send(b"page")
            link.recv(100)
            time.sleep(0.002)
    for child in children:
        os.kill(child, 9)


main()

"""A server whose threads each answer 30 clients, one after the other; then two of them take two locks in opposite order. `hold.py order`: in the same."""

import os
import socket
import sys
import threading
import time


def main():
    listener = socket.create_server(("127.0.0.1", 9000), backlog=20)
    one, two = threading.Lock(), threading.Lock()

    def both(first, second):
        with first:
            time.sleep(0.05)
            with second:
                pass

    def serve(number):
        while True:
            with listener.accept()[0] as peer:
                while word := peer.recv(10):
                    if word == b"both":
                        both(*((one, two) if number == 0 or "order" in sys.argv else (two, one)))
                    peer.send(b"done")

    server = os.fork()
    if server == 0:
        threading.Thread(target=serve, args=(1,), daemon=True).start()
        serve(0)

    def ask():
        with socket.create_connection(("127.0.0.1", 9000)) as link:
            for word in [b"work"] * 30 + [b"both"]:
                link.send(word)
                link.recv(10)
                time.sleep(0.005)

    for _ in range(2):
        threading.Thread(target=ask, daemon=True).start()
    time.sleep(4.5)
    os.kill(server, 9)


main()

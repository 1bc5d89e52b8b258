"""A service with threads, and a client with threads, each with a connection that it keeps. What is special about it says the first word:

few, enough      the service has one thread for 5 clients, or 5; each request takes 20 ms
one, many        the 5 threads of the service ask a store, which takes 10 ms, over one connection below a lock, or each over its own
stop, run        the service is stopped by a signal for 1.5 s, or not
close, answer    the service closes each second connection without an answer, or none; each request has a connection of its own
"""

import ctypes
import os
import signal
import socket
import sys
import threading
import time

MODE = sys.argv[1]
SECONDS = 2.5 if MODE in ("stop", "run") else 1.2


def serve(port, threads, answer):
    """Answer on a port from as many threads, each with one connection at a time."""
    listener = socket.create_server(("127.0.0.1", port), backlog=50)

    def work():
        while True:
            with listener.accept()[0] as peer:
                while peer.recv(1000):
                    if not answer():
                        break
                    peer.send(b"done")

    for _ in range(threads - 1):
        threading.Thread(target=work, daemon=True).start()
    work()


def shop():
    """The service."""
    lock, links = threading.Lock(), threading.local()
    shared = socket.create_connection(("127.0.0.1", 9001)) if MODE == "one" else None
    numbers = iter(range(1_000_000))

    def ask(link):
        link.send(b"key")
        link.recv(100)
        return True

    def answer():
        if MODE == "one":
            with lock:
                return ask(shared)
        if MODE == "many":
            if not hasattr(links, "link"):
                links.link = socket.create_connection(("127.0.0.1", 9001))
            return ask(links.link)
        if MODE in ("few", "enough"):
            time.sleep(0.02)
        return MODE != "close" or next(numbers) % 2 == 0

    serve(9000, 1 if MODE == "few" else 5, answer)


def client():
    """Ask from 5 threads until the time is over."""
    end = time.monotonic() + SECONDS

    def ask():
        link = None
        while time.monotonic() < end:
            link = link or socket.create_connection(("127.0.0.1", 9000))
            link.send(b"page")
            link.recv(100)
            if MODE in ("few", "enough", "close", "answer"):
                link.close()
                link = None
            time.sleep(0.002 if MODE in ("one", "many", "few", "enough") else 0.03)

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    if MODE == "stop":
        time.sleep(0.5)
        os.kill(CHILDREN[-1], signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(CHILDREN[-1], signal.SIGCONT)
    for thread in threads:
        thread.join()


def name(text):
    ctypes.CDLL(None).prctl(15, text, 0, 0, 0)


CHILDREN = []
for called, part in ((b"store", lambda: serve(9001, 6, lambda: time.sleep(0.01) or True)), (b"shop", shop)):
    child = os.fork()
    if child == 0:
        name(called)
        part()
    CHILDREN.append(child)
    time.sleep(0.2)
name(b"client")
client()
for child in CHILDREN:
    os.kill(child, signal.SIGKILL)

"""Threads and processes that wait for each other. What is special about it says the first word:

straggler, even  4 processes meet after each step; one has most of the work, or each a quarter
herd, single     each event wakes all of 10 threads, or one
stage, lines     a program reads a pipe and computes for long for each block, or for a moment for each of a few lines
line, links      6 threads ask a store that answers in order over one connection, or each over its own; one of 20 questions is slow
search, found    each look-up of a name takes 6 rounds, or 1
held, spare      an event loop gives requests to 2 threads that sleep 20 ms for each, or to 12
locked, free     a process keeps the lock of a file for 300 ms, or for 1 ms; 2 others try for it and sleep 10 ms after each try
"""

import ctypes
import fcntl
import os
import queue
import selectors
import socket
import sys
import threading
import time
from pathlib import Path

MODE = sys.argv[1]
SECONDS = 1.2
CHILDREN = []


def fork(name, work):
    """Start a process."""
    child = os.fork()
    if child:
        CHILDREN.append(child)
        return
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
    try:
        work()
    finally:
        os._exit(0)


def compute(seconds):
    """Run for about so many seconds."""
    sum(range(int(seconds * 60e6)))


def steps():
    """Four processes, and a token that goes from the last one to all."""
    done, go = os.pipe(), [os.pipe() for _ in range(4)]

    def solve(number):
        part = 0.04 if number == 2 else 0.003
        while True:
            compute(part if MODE == "straggler" else 0.01)
            os.write(done[1], b"x")
            os.read(go[number][0], 1)

    def gather():
        while True:
            left = 4
            while left:
                left -= len(os.read(done[0], left))
            for _, end in go:
                os.write(end, b"x")

    def lead():
        for number in range(1, 4):
            fork("solver", lambda number=number: solve(number))
        fork("gather", gather)
        solve(0)

    fork("solver", lead)


def herd():
    """Ten threads and one condition."""
    condition, items = threading.Condition(), []

    def consume():
        while True:
            with condition:
                while not items:
                    condition.wait()
                items.pop()

    def produce():
        for _ in range(10):
            threading.Thread(target=consume, daemon=True).start()
        while True:
            with condition:
                items.append(1)
                condition.notify_all() if MODE == "herd" else condition.notify()
            time.sleep(0.002)

    fork("queue", produce)


def stages():
    """A writer and a reader of a pipe."""
    out, into = os.pipe()

    def write():
        while True:
            os.write(into, b"x" * 60000)
            if MODE == "lines":
                time.sleep(0.01)

    def read():
        while os.read(out, 60000):
            compute(0.02 if MODE == "stage" else 0.0005)

    fork("source", write)
    fork("packer", read)


def line():
    """A store, and a gateway whose threads ask it."""
    listener = socket.create_server(("127.0.0.1", 7001), backlog=50)

    def answer(link):
        for word in link.makefile("rb"):
            time.sleep(0.1 if word == b"slow\n" else 0.001)
            link.sendall(word)

    def store():
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    def ask(link, waiting, number):
        for turn in range(10**9):
            time.sleep(0.004)
            done = threading.Event()
            with link[1]:
                waiting.put(done)
                link[0].sendall(b"slow\n" if (turn + number) % 20 == 0 else b"quick\n")
            done.wait()

    def listen(link, waiting):
        for _ in link[0].makefile("rb"):
            waiting.get().set()

    def gateway():
        links = [
            ((socket.create_connection(("127.0.0.1", 7001)), threading.Lock()), queue.Queue())
            for _ in range(1 if MODE == "line" else 6)
        ]
        for link, waiting in links:
            threading.Thread(target=listen, args=(link, waiting), daemon=True).start()
        for number in range(6):
            threading.Thread(target=ask, args=(*links[number % len(links)], number), daemon=True).start()
        time.sleep(60)

    fork("store", store)
    fork("gateway", gateway)


def names():
    """A name server that takes 3 ms, and a process that looks names up."""
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.bind(("127.0.0.1", 53))

    def serve():
        while True:
            question, asker = door.recvfrom(512)
            time.sleep(0.003)
            door.sendto(question, asker)

    def look():
        while True:
            for _ in range(6 if MODE == "search" else 1):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
                    link.connect(("127.0.0.1", 53))
                    link.send(b"name")
                    link.recv(512)
            time.sleep(0.02)

    fork("resolver", serve)
    fork("shop", look)


def pool():
    """An event loop with a pool of threads, and eight clients."""
    listener = socket.create_server(("127.0.0.1", 3000), backlog=50)

    def work(jobs):
        while True:
            peer = jobs.get()
            time.sleep(0.02)
            peer.send(b"done")

    def loop():
        jobs, poll = queue.Queue(), selectors.DefaultSelector()
        for _ in range(2 if MODE == "held" else 12):
            threading.Thread(target=work, args=(jobs,), daemon=True).start()
        poll.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in poll.select():
                if key.fileobj is listener:
                    poll.register(listener.accept()[0], selectors.EVENT_READ)
                elif key.fileobj.recv(1000):
                    jobs.put(key.fileobj)

    def ask():
        link = socket.create_connection(("127.0.0.1", 3000))
        while True:
            link.send(b"question")
            link.recv(1000)
            time.sleep(0.002)

    fork("shop", loop)
    for _ in range(8):
        fork("client", ask)


def lock():
    """Two processes that try for a lock, and one that keeps it."""

    def take(pause, keep):
        with Path("crowd.lock").open("w") as file:
            while True:
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    time.sleep(0.01)
                    continue
                time.sleep(keep)
                fcntl.lockf(file, fcntl.LOCK_UN)
                time.sleep(pause)

    fork("report", lambda: take(0.1, 0.3 if MODE == "locked" else 0.001))
    for _ in range(2):
        fork("shop", lambda: take(0.02, 0.001))


{
    "straggler": steps,
    "even": steps,
    "herd": herd,
    "single": herd,
    "stage": stages,
    "lines": stages,
    "line": line,
    "links": line,
    "search": names,
    "found": names,
    "held": pool,
    "spare": pool,
    "locked": lock,
    "free": lock,
}[MODE]()
time.sleep(SECONDS)
os.killpg(0, 15)

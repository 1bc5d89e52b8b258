"""A service reads 64 KB of a disk for each request. `disk.py beside`: another process reads the same disk from four threads meanwhile."""

import ctypes
import mmap
import os
import random
import signal
import socket
import sys
import threading
import time
from pathlib import Path

FILE = Path("/var/tmp/perfcase-disk")
SIZE = 64 << 20
ctypes.CDLL(None).prctl(15, b"shop", 0, 0, 0)
with FILE.open("wb") as file:
    file.write(os.urandom(SIZE))
    os.fsync(file.fileno())


def read(file, memory):
    os.preadv(file, [memory], random.randrange(SIZE // len(memory)) * len(memory))


def beside():
    ctypes.CDLL(None).prctl(15, b"backup", 0, 0, 0)

    def work():
        file, memory = os.open(FILE, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20)
        while True:
            read(file, memory)

    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    work()


def serve():
    file, memory = os.open(FILE, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 16)
    listener = socket.create_server(("127.0.0.1", 9000))
    with listener.accept()[0] as peer:
        while peer.recv(100):
            read(file, memory)
            peer.send(b"done")


CHILDREN = []
for part in (serve, beside) if "beside" in sys.argv else (serve,):
    child = os.fork()
    if child == 0:
        part()
    CHILDREN.append(child)
time.sleep(0.3)
ctypes.CDLL(None).prctl(15, b"client", 0, 0, 0)
end = time.monotonic() + 2
with socket.create_connection(("127.0.0.1", 9000)) as link:
    while time.monotonic() < end:
        link.send(b"page")
        link.recv(100)
        time.sleep(0.0005)
for child in CHILDREN:
    os.kill(child, signal.SIGKILL)
FILE.unlink()

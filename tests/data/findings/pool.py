"""Workers that ask another service for each piece of work.

`pool.py slow`: the service takes 40 ms an answer, six workers all wait for it.
`pool.py idle`: the service is quick and there is little to do: the workers wait for work.
"""

import os
import queue
import socket
import sys
import threading
import time

SLOW = sys.argv[1] == "slow"
WORKERS = 6
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
cache = socket.socket()
cache.bind(("127.0.0.1", 0))
cache.listen()


def serve(listener, delay):
    def answer(connection):
        while connection.recv(100):
            time.sleep(delay)
            connection.send(b"a" * 50)

    for _ in range(WORKERS):
        threading.Thread(target=answer, args=(listener.accept()[0],)).start()


for listener, delay in (server, 0.04 if SLOW else 0.0005), (cache, 0.0005):
    if os.fork() == 0:
        serve(listener, delay)
        sys.exit()

work = queue.Queue()


def worker():
    slow = socket.create_connection(server.getsockname())
    quick = socket.create_connection(cache.getsockname())
    while work.get():
        for connection in quick, slow:
            connection.send(b"q" * 20)
            connection.recv(100)


threads = [threading.Thread(target=worker) for _ in range(WORKERS)]
for t in threads:
    t.start()
for _ in range(150):
    work.put(True)
    time.sleep(0.006 if SLOW else 0.008)
for _ in threads:
    work.put(False)
for t in threads:
    t.join()

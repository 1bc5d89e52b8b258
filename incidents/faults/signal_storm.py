"""A process sends a server thousands of signals a second: its calls are interrupted, its handler runs, and its answers are slow.

Source: signal(7), "Interruption of system calls and library functions by signal handlers".
"""

import os
import signal
import socket
import time

CAUSE = "ticker sends worker thousands of signals (SIGUSR1) a second"
NAMED = r"worker.*(signal|SIGUSR1|interrupt).*ticker|ticker.*(signal|SIGUSR1|interrupt).*worker"
BLAMED = r"^(client|worker) .*(signal|ticker)"
MOVED = r"(signal|SIGUSR1|EINTR|interrupt|ticker)"


def play(scene):
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(64)
    links = []

    def serve():
        signal.signal(signal.SIGUSR1, lambda *_: sum(range(4000)))
        link, _ = door.accept()
        while link.recv(100):
            sum(range(100_000))  # 2 ms of work
            link.sendall(b"ok")

    def ask():
        links[:] = links or [socket.create_connection(("127.0.0.1", 9000))]
        links[0].sendall(b"hello")
        links[0].recv(100)
        time.sleep(0.005)

    number = scene.fork("worker", serve)
    scene.fork("client", ask)
    time.sleep(0.5)

    def tick():
        if scene.is_bad:
            os.kill(number, signal.SIGUSR1)
            time.sleep(0.0001)
        else:
            time.sleep(0.2)

    scene.fork("ticker", tick)
    with scene.recording():
        time.sleep(1)

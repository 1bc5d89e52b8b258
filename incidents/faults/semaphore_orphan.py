"""Processes of a service share a semaphore of System V. One was killed while it had it, and nobody gives it back: the others wait for ever.

Source: semop(2): SEM_UNDO gives it back when the process ends; ipcs(1).
"""

import ctypes
import os
import socket
import struct
import time

CAUSE = "all processes of ledger wait in semop for a semaphore that nobody has any more"
NAMED = r"ledger.*(semop|semtimedop|semaphore)"
BLAMED = r"^(client|ledger) .*(semop|semtimedop|semaphore)"
MOVED = r"ledger.*(semop|semtimedop|semaphore)"
FELT = True


def play(scene):
    libc = ctypes.CDLL(None)
    number = libc.semget(0, 1, 0o1600)

    def change(by):
        libc.semop(number, struct.pack("Hhh", 0, by, 0), 1)

    change(1)
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(64)

    def serve():
        with door.accept()[0] as link:
            link.recv(100)
            change(-1)
            sum(range(20_000))
            change(1)
            link.sendall(b"ok")

    def ask():
        with scene.clock.asking(), socket.create_connection(("127.0.0.1", 9000), 2) as link:
            link.sendall(b"book")
            if not link.recv(10):
                raise OSError("no answer")
        time.sleep(0.02)

    for _ in range(3):
        scene.fork("ledger", serve)
    scene.fork("client", ask, count=4)
    time.sleep(1)
    if scene.is_bad:

        def die():
            change(-1)
            os._exit(1)

        scene.fork("ledger", die)
    with scene.recording():
        time.sleep(1)

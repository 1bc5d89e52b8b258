"""Small transactions of two sessions, each flushed to the disk: the commit waits for the write-ahead log."""

import random
import shutil
import threading
import time

from programs import Session, postgres


def play(scene):
    folder = scene.disk() / "wal"
    folder.mkdir()
    shutil.chown(folder, "postgres")
    postgres(scene, wal=str(folder))
    sessions = {}

    def book():
        session = sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), Session())
        session.run(f"UPDATE account SET balance = balance + 1 WHERE id = {random.randint(1, 50000)}")
        time.sleep(random.uniform(0.01, 0.04))

    scene.fork("bookings", book, count=2)
    with scene.recording():
        time.sleep(1)

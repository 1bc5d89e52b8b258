"""Commits of PostgreSQL wait for a disk that takes 20 flushes a second: a volume at its limit.

Source: PostgreSQL manual, "Reliability": a commit waits until its WAL is flushed; pg_test_fsync.
"""

import threading
import time

from programs import Session, postgres

CAUSE = "postgres waits in fdatasync of its WAL for a slow disk"
NAMED = r"postgres.*(fdatasync|WAL|pg_wal|disk|loop)|disk_slow.*loop"
BLAMED = r"^postgres .*(fdatasync|disk).*"
MOVED = r"postgres waits .*(disk|loop|fdatasync|WAL|pg_wal)"


def play(scene):
    device = scene.file_system("/mnt", "512M")
    scene.run("chown", "postgres", "/mnt")
    postgres(scene, wal="/mnt/wal")
    sessions = {}

    def pay():
        session = sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), Session())
        session.run(f"UPDATE account SET balance = balance - 1 WHERE id = {threading.get_ident() % 50000}")
        time.sleep(0.01)

    scene.fork("payments", pay, count=3)
    if scene.is_bad:
        scene.throttle(device, 40)
    with scene.recording():
        time.sleep(1)

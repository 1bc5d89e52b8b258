"""A backup reads the disk on which PostgreSQL has its log, and takes most of what the disk can do.

Source: Brendan Gregg, "Systems Performance", 2nd edition, 9.5.1: disk workloads that interfere with each other.
"""

import threading
import time

from programs import Session, postgres

CAUSE = "fio takes the disk (loop) that postgres waits for"
NAMED = r"(disk|loop).*fio"
BLAMED = r"^postgres .*(disk|fdatasync|loop)"
MOVED = r"(fio|postgres waits .*(disk|loop|fdatasync|WAL|pg_wal))"


def play(scene):
    device = scene.file_system("/mnt", "512M")
    scene.run("chown", "postgres", "/mnt")
    postgres(scene, wal="/mnt/wal")
    sessions = {}

    def pay():
        session = sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), Session())
        session.run(f"UPDATE account SET balance = balance - 1 WHERE id = {threading.get_ident() % 50000}")
        time.sleep(0.01)

    scene.run("fio", "--name=backup", "--filename=/mnt/backup", "--rw=write", "--bs=1M", "--size=200M", "--end_fsync=1")
    scene.fork("payments", pay, count=3)
    scene.throttle(device, 400)
    if scene.is_bad:
        words = [
            "--direct=1",
            "--rw=randread",
            "--bs=16k",
            "--size=200M",
            "--time_based",
            "--runtime=60",
            "--iodepth=8",
            "--ioengine=psync",
            "--numjobs=8",
        ]
        scene.start("fio", "--name=backup", "--filename=/mnt/backup", *words)
    with scene.recording():
        time.sleep(1)

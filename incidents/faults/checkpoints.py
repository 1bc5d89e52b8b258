"""The log of PostgreSQL may be 32 MB between two checkpoints: it makes one after the other, and commits wait behind its writes to the same disk.

Source: PostgreSQL manual, "WAL Configuration": "checkpoints are occurring too frequently"; max_wal_size, full_page_writes.
"""

import random
import threading
import time

from programs import Session, postgres, sql

CAUSE = "the checkpointer of postgres writes to the disk (/mnt) that commits wait for"
NAMED = r"checkpoint|postgres.*/base/"
BLAMED = r"^(payments|postgres) .*(checkpoint|/base/|disk|loop)"
MOVED = r"checkpoint|postgres.*(/base/|disk|loop)"
FELT = True


def play(scene):
    device = scene.file_system("/mnt", "1G")
    scene.run("chown", "postgres", "/mnt")
    size = "32MB" if scene.is_bad else "4GB"
    postgres(scene, f"max_wal_size={size}", "min_wal_size=32MB", "checkpoint_completion_target=0.1", folder="/mnt")
    sql("INSERT INTO account SELECT n, n, 100, repeat('x', 100) FROM generate_series(50001, 300000) AS n")
    sql("CHECKPOINT")
    sessions = {}

    def pay():
        me = threading.get_ident()
        session = sessions.get(me) or sessions.setdefault(me, Session())
        with scene.clock.asking():
            session.run(
                "UPDATE account SET balance = balance - 1 WHERE id IN "
                f"({', '.join(str(random.randint(1, 300000)) for _ in range(20))})"
            )
        time.sleep(0.02)

    scene.fork("payments", pay, count=3)
    scene.throttle(device, 1000)
    time.sleep(4)  # the first checkpoint has begun
    with scene.recording():
        time.sleep(1)

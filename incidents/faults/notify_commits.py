"""Each transaction of PostgreSQL says NOTIFY: such commits take one lock of the whole server and flush the log while they have it, so they come one by one.

Source: PostgreSQL manual, NOTIFY, and its source, commands/async.c (PreCommit_Notify): the lock is held until the commit is over.
"""

import threading
import time

from programs import Session, postgres

CAUSE = "commits of postgres wait for the lock of another session of postgres, which waits for the disk of the log meanwhile"
NAMED = r"postgres.*(another of its processes|lock|semaphore).*(disk|loop|fdatasync|wal)"
BLAMED = r"^(shop|postgres) .*futex.* disk postgres"
MOVED = r"postgres.*(another of its processes|lock|semaphore|futex).*(disk|loop|fdatasync|wal|postgres)"
FELT = True
TRUE_ALSO = r"answers_wait .*postgres .*fdatasync|disk_queueing"  # the disk takes 150 requests a second


def play(scene):
    device = scene.file_system("/mnt", "512M")
    scene.run("chown", "postgres", "/mnt")
    postgres(scene, wal="/mnt/wal")
    sessions = {}

    def buy():
        me = threading.get_ident()
        session = sessions.get(me) or sessions.setdefault(me, Session())
        with scene.clock.asking():
            session.run("BEGIN")
            session.run(f"UPDATE account SET balance = balance - 1 WHERE id = {me // 64 % 50000}")
            if scene.is_bad:
                session.run(f"NOTIFY orders, '{me}'")
            session.run("COMMIT")
        time.sleep(0.01)

    scene.fork("shop", buy, count=8)
    scene.throttle(device, 150)
    with scene.recording():
        time.sleep(1)

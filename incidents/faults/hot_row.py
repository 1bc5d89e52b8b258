"""All sessions of PostgreSQL update the same row: each waits until the one before has committed.

Source: PostgreSQL manual, "Explicit Locking": row-level locks; "hot row" of counters.
"""

import threading
import time

from programs import Session, postgres

CAUSE = "sessions of postgres wait for one another: for the lock of a row"
NAMED = r"(answers_wait|lock_convoy).*postgres.*(lock|another of its processes|idle in transaction)"
BLAMED = r"^postgres request .*no_work postgres"  # who has the row locked waits for its client
MOVED = r"postgres waits .*(lock|futex|postgres)"


def play(scene):
    postgres(scene, "synchronous_commit=off")
    sessions = {}

    def count():
        me = threading.get_ident()
        session = sessions.get(me) or sessions.setdefault(me, Session())
        session.run("BEGIN")
        session.run(f"UPDATE account SET balance = balance + 1 WHERE id = {1 if scene.is_bad else me % 50000}")
        time.sleep(0.01)  # what the shop does in between
        session.run("COMMIT")
        time.sleep(0.02)

    scene.fork("shop", count, count=8)
    with scene.recording():
        time.sleep(1)

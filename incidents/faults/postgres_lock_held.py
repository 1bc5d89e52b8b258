"""A session locks a row, and thinks for seconds before it commits: others that want the row wait.

Source: PostgreSQL manual, "Explicit Locking": transactions that are left idle hold their locks.
"""

import time

from programs import Session, postgres

CAUSE = "a backend of PostgreSQL holds a row lock while it waits for its own client (idle in transaction)"
NAMED = r"postgres.*(thread|backend|process|processes,) postgres.* (which|that) had nothing to do|postgres.*idle in transaction"
BLAMED = r"^postgres request .*no_work|^postgres .*no_work"
MOVED = r"postgres waits .* more for .*(postgres|nothing to do)"


def play(scene):
    postgres(scene)
    sessions = {}

    def pay():
        import threading

        session = sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), Session())
        session.run("BEGIN")
        session.run("UPDATE account SET balance = balance - 1 WHERE id = 1")
        session.run("COMMIT")
        time.sleep(0.02)

    holder = []

    def hold():
        holder[:] = holder or [Session()]
        holder[0].run("BEGIN")
        holder[0].run("UPDATE account SET balance = balance + 1 WHERE id = 1")
        if scene.is_bad:
            time.sleep(0.7)  # the client thinks, the lock is held
        holder[0].run("COMMIT")
        time.sleep(0.05)

    scene.fork("payments", pay, count=4)
    scene.fork("batch", hold)
    with scene.recording():
        time.sleep(1)

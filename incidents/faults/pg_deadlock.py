"""Two transactions of PostgreSQL lock the same rows in opposite order: both wait until the server looks for deadlocks, after a second.

Source: PostgreSQL manual, "Deadlocks"; deadlock_timeout.
"""

import threading
import time

from programs import Session, postgres

CAUSE = "sessions of postgres wait for each other's row locks until deadlock_timeout (1 s)"
NAMED = r"(answers_wait|unanswered|lock).*postgres.*(lock|another of its processes|timer|in vain)"
BLAMED = r"^postgres .*(alarm|lock)"
MOVED = r"postgres"


def play(scene):
    postgres(scene)
    sessions = {}
    number = iter(range(1000))

    def move():
        me = threading.get_ident()
        if me not in sessions:
            sessions[me] = Session(), next(number) % 2
        session, side = sessions[me]
        first, second = (2, 1) if side and scene.is_bad else (1, 2)
        session.run("BEGIN")
        session.run(f"UPDATE account SET balance = balance - 1 WHERE id = {first}")
        time.sleep(0.002)
        try:
            session.run(f"UPDATE account SET balance = balance + 1 WHERE id = {second}")
        except OSError:
            session.run("ROLLBACK")
            return
        session.run("COMMIT")
        time.sleep(0.05)

    scene.fork("shop", move, count=2)
    with scene.recording():
        time.sleep(1)

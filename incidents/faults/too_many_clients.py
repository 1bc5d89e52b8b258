"""More clients want a session than PostgreSQL allows: it accepts each connection, says "sorry, too many clients already" and closes it.

Source: PostgreSQL manual, max_connections; error 53300.
"""

import contextlib
import threading
import time

from programs import Session, postgres

CAUSE = "postgres turns sessions of shop away: 8 of 8 are taken"
NAMED = r"short_processes.*postgres.*shop"
MOVED = r"(shop|postgres)"


def play(scene):
    postgres(scene, "max_connections=8", "superuser_reserved_connections=0")
    sessions = {}

    def ask():
        me = threading.get_ident()
        session = sessions.get(me)
        if not session:
            with contextlib.suppress(OSError):
                session = sessions[me] = Session()
        if session:
            session.run(f"SELECT balance FROM account WHERE id = {me % 50000}")
        time.sleep(0.02)

    scene.fork("shop", ask, count=16 if scene.is_bad else 6)
    with scene.recording():
        time.sleep(1)

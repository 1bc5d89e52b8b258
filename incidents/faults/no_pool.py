"""A service opens a new session of PostgreSQL for each request: the server starts a process for each of them.

Source: PostgreSQL manual, "How Connections Are Established": a process per connection; the reason for poolers such as PgBouncer.
"""

import threading
import time

from programs import Session, postgres

CAUSE = "postgres starts a process for each request: sessions are not kept"
NAMED = r"short_processes.*postgres"
BLAMED = r"^shop .*postgres"
MOVED = r"postgres"


def play(scene):
    postgres(scene)
    sessions = {}

    def ask():
        me = threading.get_ident()
        session = None if scene.is_bad else sessions.get(me)
        session = session or sessions.setdefault(me, Session())
        session.run(f"SELECT balance FROM account WHERE id = {me % 50000}")
        if scene.is_bad:
            session.socket.close()
            session.file.close()
        time.sleep(0.005)

    scene.fork("shop", ask, count=4)
    with scene.recording():
        time.sleep(1)

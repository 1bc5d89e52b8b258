"""An index is gone: each query reads all 50,000 rows of a table.

Source: PostgreSQL manual, "Examining Index Usage".
"""

import threading
import time

from programs import Session, postgres, sql

CAUSE = "backends of postgres compute: a sequential scan in place of an index"
NAMED = r"requests_compute.*postgres"
BLAMED = r"^(shop|client) .*postgres"
MOVED = r"postgres"


def play(scene):
    postgres(scene)
    if scene.is_bad:
        sql("DROP INDEX account_owner")
    sessions = {}

    def look():
        session = sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), Session())
        session.run("SELECT balance FROM account WHERE owner = 4711")
        time.sleep(0.02)

    scene.fork("shop", look, count=2)
    with scene.recording():
        time.sleep(1)

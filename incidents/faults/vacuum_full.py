"""A nightly script runs VACUUM FULL by day, again and again: it writes the whole table again, and nobody may read it meanwhile.

Source: PostgreSQL manual, VACUUM: FULL "requires an ACCESS EXCLUSIVE lock on each table while it is being processed".
"""

import random
import threading
import time

from programs import Session, postgres, sql

CAUSE = "sessions of postgres wait for the lock of a table that the session of janitor holds while it writes the whole table again"
NAMED = r"postgres.*(janitor|[Vv]acuum|VACUUM|cluster_rel|copy_table_data|rebuild_relation)"
BLAMED = r"^(shop|postgres) .*(janitor|[Vv]acuum|cluster_rel|copy_table_data|rebuild_relation|postgres)"
MOVED = r"postgres.*(janitor|[Vv]acuum|VACUUM|cluster_rel|copy_table_data|rebuild_relation)"
FELT = True


def play(scene):
    postgres(scene, "synchronous_commit=off")
    sql("INSERT INTO account SELECT n, n, 100, repeat('x', 100) FROM generate_series(50001, 200000) AS n")
    own = []

    def clean():
        own[:] = own or [Session()]
        own[0].run("VACUUM FULL account" if scene.is_bad else "VACUUM account")
        time.sleep(0.5)

    sessions = {}

    def look():
        me = threading.get_ident()
        session = sessions.get(me) or sessions.setdefault(me, Session())
        with scene.clock.asking():
            session.run(f"SELECT balance FROM account WHERE id = {random.randint(1, 200000)}")
        time.sleep(0.02)

    scene.fork("janitor", clean)
    scene.fork("shop", look, count=4)
    with scene.recording():
        time.sleep(1)

"""A queue is a table of PostgreSQL, and a report has left a transaction open since before yesterday's rows were deleted: each look for the next row passes all of them.

Source: PostgreSQL's manual, "Routine Vacuuming": row versions that an old transaction might still see are not removed; B. Leach, "Postgres Job Queues & Failure By MVCC" (2015).
"""

import threading
import time

from programs import Session, postgres, sql

CAUSE = "postgres computes: it reads the dead versions of rows (heap and index) that the open transaction of report keeps, for each row of the queue"
NAMED = r"postgres.*(heap\w*_|HeapTuple|_bt_|btget|XidInMVCC|idle in transaction|\breport\b)"
BLAMED = r"^(worker|postgres) .*(heap\w*_|HeapTuple|_bt_|btget|XidInMVCC|report)"
MOVED = r"postgres.*(heap\w*_|HeapTuple|_bt_|btget|XidInMVCC|idle in transaction|\breport\b)"
FELT = True

NEXT = "DELETE FROM task WHERE id = (SELECT id FROM task ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)"


def play(scene):
    postgres(scene, "fsync=off", "autovacuum=off")
    sql("CREATE TABLE task (id bigserial PRIMARY KEY, note text)")
    sql("INSERT INTO task (note) SELECT 'from yesterday' FROM generate_series(1, 60000)")
    kept = []

    def report():
        if not kept:
            kept.append(Session())
            if scene.is_bad:
                kept[0].run("BEGIN ISOLATION LEVEL REPEATABLE READ")
            kept[0].run("SELECT count(*) FROM account")
        time.sleep(60)

    scene.fork("report", report)
    time.sleep(1)
    sql("DELETE FROM task")
    sessions = {}

    def work():
        me = threading.get_ident()
        session = sessions.get(me) or sessions.setdefault(me, Session())
        with scene.clock.asking():
            session.run("INSERT INTO task (note) VALUES ('from today')")
            session.run(NEXT)
        time.sleep(0.03)

    scene.fork("worker", work, count=2)
    with scene.recording():
        time.sleep(1)

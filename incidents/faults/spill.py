"""PostgreSQL sorts more than work_mem holds: it writes temporary files, and reads them, on a slow disk.

Source: PostgreSQL manual, work_mem and log_temp_files.
"""

import threading
import time

from programs import Session, postgres, sql

CAUSE = "postgres writes and reads temporary files (pgsql_tmp) for a sort"
NAMED = r"postgres.*(pgsql_tmp|temporary)"
BLAMED = r"^(report|postgres) .*(pgsql_tmp)"
MOVED = r"pgsql_tmp"


def play(scene):
    postgres(scene, "work_mem=64kB" if scene.is_bad else "work_mem=256MB", "max_parallel_workers_per_gather=0")
    sql(
        "INSERT INTO account SELECT n, n, 100, md5(n::text) || repeat('x', 300) FROM generate_series(50001, 120000) AS n"
    )
    sql("VACUUM ANALYZE account")
    sessions = {}

    def ask():
        session = sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), Session())
        session.run("SELECT count(*) FROM (SELECT * FROM account ORDER BY note, owner OFFSET 0) AS s")
        time.sleep(0.05)

    scene.fork("report", ask, count=1)
    with scene.recording():
        time.sleep(1)

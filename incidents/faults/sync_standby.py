"""PostgreSQL commits wait for a synchronous standby, whose disk is slow.

Source: PostgreSQL manual, "Synchronous Replication": a commit waits until the standby has written it to its disk.
"""

import threading
import time

from programs import PG, Session, postgres, sql

CAUSE = "commits of postgres wait for the standby (walreceiver), which waits in fdatasync for its disk"
NAMED = r"postgres.*(walreceiver|standby|wal sender|walsender)|postgres.*(fdatasync|fsync).*(/mnt|loop)"
BLAMED = r"^(payments|postgres) .*(fdatasync|disk|walreceiver)"
MOVED = r"postgres.*(walreceiver|fdatasync|loop|disk|standby)"


def play(scene):
    device = scene.file_system("/mnt", "512M")
    scene.run("chown", "postgres", "/mnt")
    postgres(scene, "wal_level=replica")
    scene.run(
        f"{PG}/pg_basebackup",
        "-h",
        "127.0.0.1",
        "-U",
        "postgres",
        "-D",
        "/mnt/data",
        "-R",
        "-X",
        "stream",
        "--checkpoint=fast",  # it waits for one, which PostgreSQL else spreads over minutes
        user="postgres",
    )
    scene.start(
        f"{PG}/postgres", "-D", "/mnt/data", "-k", "/scene", "-p", "5433",
        "-c", "primary_conninfo=host=127.0.0.1 user=postgres application_name=standby", user="postgres",
    )  # fmt: skip
    scene.wait_port(5433)
    # Not on the command line, which would count more than this: without a standby no commit would ever end.
    sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    sql("SELECT pg_reload_conf()")
    # This fails, by a division by zero, until commits wait for the standby: a recording of before has no fault.
    scene.wait(lambda: sql("SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"), "the standby")
    sessions = {}

    def pay():
        session = sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), Session())
        session.run(f"UPDATE account SET balance = balance - 1 WHERE id = {threading.get_ident() % 50000}")
        time.sleep(0.02)

    scene.fork("payments", pay, count=3)
    if scene.is_bad:
        scene.throttle(device, 40)
    with scene.recording():
        time.sleep(1)

"""pgbench in four sessions with 150 transactions per second: PostgreSQL as most applications use it."""

import time

from programs import PG, postgres


def play(scene):
    postgres(scene)
    words = ["-h", "127.0.0.1", "-U", "postgres"]
    scene.run(f"{PG}/pgbench", *words, "-i", "-s", "2", "-q", "postgres")
    scene.start(f"{PG}/pgbench", *words, "-c", "4", "-j", "2", "-R", "150", "-T", "600", "-n", "postgres")
    with scene.recording():
        time.sleep(1)

"""One session adds up tables for a report: its backend computes for half a second, then its client reads for as long."""

import time

from programs import Session, postgres


def play(scene):
    postgres(scene, "max_parallel_workers_per_gather=0")
    sessions = []

    def report():
        sessions[:] = sessions or [Session()]
        sessions[0].run(
            "SELECT sum(a.balance * b.n) FROM account AS a, generate_series(1, 60) AS b (n) WHERE a.owner % 7 < 3"
        )
        time.sleep(0.5)

    scene.fork("report", report)
    with scene.recording():
        time.sleep(1)

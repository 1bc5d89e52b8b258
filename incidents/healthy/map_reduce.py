"""A balanced map and reduce: four processes of a pool get equal parts again and again, and a pause is between the jobs."""

import multiprocessing
import time


def count(n):
    """Compute for some milliseconds."""
    return sum(range(n * 1000, n * 1000 + 400_000))


def play(scene):
    pools = []

    def work():
        if not pools:
            pools.append(multiprocessing.Pool(4))
        sum(pools[0].map(count, range(16), chunksize=1))
        time.sleep(0.2)

    scene.fork("counter", work)
    with scene.recording():
        time.sleep(1)

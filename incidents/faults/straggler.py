"""Four processes of a parallel job meet after each step, and one of them has most of the work: the others wait for it, and a CPU idles.

Source: DeRose, Homer, Johnson, "Detecting Application Load Imbalance on High End Massively Parallel Systems", Euro-Par 2007.
"""

import multiprocessing
import os
import time

CAUSE = "the processes solver wait for the one that has most of the work"
NAMED = r"solver.*(others|all wait|wait for it|most of the work)"
BLAMED = r"^solver .*running solver"
MOVED = r"solver waits .*solver|solver.*others"
TRUE_ALSO = r"cpu_saturation"  # four compute on two CPUs


def play(scene):
    def work():
        barrier = multiprocessing.Barrier(4)
        number = 0
        for place in range(1, 4):
            if os.fork() == 0:
                number = place
                break
        parts = 120 if number == 2 else 10
        if not scene.is_bad:
            parts = 30
        while True:
            for _ in range(parts):
                sum(range(60_000))
            barrier.wait()

    scene.fork("solver", work)
    with scene.recording():
        time.sleep(1)

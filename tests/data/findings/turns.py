"""So many processes that compute and pause in turns, for a minute and a half: `turns.py PROCESSES STEPS PAUSE_S`."""

import os
import sys
import time

processes, steps, pause_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
children = []
for _ in range(processes):
    child = os.fork()
    if child == 0:
        end = time.monotonic() + 90
        while time.monotonic() < end:
            for _ in range(steps):
                pass
            time.sleep(pause_s)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)

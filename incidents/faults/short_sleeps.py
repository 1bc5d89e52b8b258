"""A worker looks each 50 µs whether there is work, in four threads: the timers alone take much of the CPUs.

Source: "Systems Performance", 2nd edition, 6.5.2; LWN, "Power management and timers": polling instead of events.
"""

import time

CAUSE = "worker sleeps 50 µs at a time and looks for work"
NAMED = r"busy_polling.*worker"
MOVED = r"worker"


def play(scene):
    scene.fork("worker", lambda: time.sleep(0.00005 if scene.is_bad else 0.05), count=4)
    with scene.recording():
        time.sleep(1)

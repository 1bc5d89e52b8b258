"""Redis with pipelines of a benchmark: one CPU is busy, and that is what it is for."""

import time

from programs import redis

# Both programs compute all the time, on two CPUs: the recorder and the interrupts of loopback make them wait.
TRUE_ALSO = r"cpu_saturation|recorder_cost"


def play(scene):
    redis(scene)
    scene.start("redis-benchmark", "-n", "100000000", "-c", "20", "-t", "get,set", "-q")
    with scene.recording():
        time.sleep(1)

"""A container has a quota of a fifth of a CPU, and its work needs more: it is held back in each period.

Source: Documentation/scheduler/sched-bwc.rst in the kernel.
"""

import time

from programs import redis, redis_client

CAUSE = "the control group of redis-server has used up its CPU quota"
NAMED = r"cpu_quota.*shop"
BLAMED = r"redis-server.*(quota|throttle)"
MOVED = r"shop|quota"


def play(scene):
    redis(scene, group=scene.group("shop", cpus=0.2 if scene.is_bad else 4))
    redis_client(scene, "client", "EVAL", "local s = 0 for i = 1, 100000 do s = s + i end return s", "0", count=4)
    with scene.recording():
        time.sleep(1)

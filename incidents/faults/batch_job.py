"""A nightly job takes the CPUs, and the service has a lower priority than it (nice 10).

Source: sched(7): the nice value; "Systems Performance", 2nd edition, 6.3.6: priorities.
"""

import time

from programs import redis, redis_client

CAUSE = "stress-ng takes the CPUs that redis-server waits for, whose nice value is 10"
NAMED = r"(cpu_saturation|unclaimed|noisy|wait for a CPU).*stress-ng"
BLAMED = r"^(redis-server|client) .*cpu_taken stress-ng"
MOVED = r"stress-ng"


def play(scene):
    redis(scene)
    scene.run("sh", "-c", "renice -n 10 -p $(pgrep redis-server)")
    redis_client(scene, "client", "EVAL", "local s = 0 for i = 1, 2000 do s = s + i end return s", "0", count=4)
    if scene.is_bad:
        scene.start("stress-ng", "--cpu", "3", "--timeout", "60")
    with scene.recording():
        time.sleep(1)

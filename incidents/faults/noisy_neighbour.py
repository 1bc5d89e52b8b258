"""A batch job in another control group takes the CPUs that a service needs.

Source: Brendan Gregg, "Systems Performance", 2nd edition, 11.2: noisy neighbours.
"""

import time

from programs import redis, redis_client

CAUSE = "the group batch (stress-ng) uses the CPUs that redis-server in the group shop waits for"
NAMED = r"noisy_neighbour.*(batch|stress-ng)|(cpu_saturation|unclaimed).*stress-ng"
BLAMED = r"(redis-server|client) .*cpu_taken stress-ng"
MOVED = r"stress-ng"


def play(scene):
    redis(scene, group=scene.group("shop", cpus=4))
    redis_client(scene, "client", "EVAL", "local s = 0 for i = 1, 2000 do s = s + i end return s", "0", count=4)
    group = scene.group("batch", cpus=4)
    if scene.is_bad:
        scene.start("stress-ng", "--cpu", "4", "--timeout", "60", group=group)
    with scene.recording():
        time.sleep(1)

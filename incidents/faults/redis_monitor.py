"""Somebody has left redis-cli MONITOR running in eight windows: Redis writes each command to each of them.

Source: Redis documentation, MONITOR, "Cost of running MONITOR": "running a single MONITOR client can reduce the throughput by more than 50%".
"""

import time

from programs import linked_clients, redis

CAUSE = "redis-server writes each command to redis-cli, which has asked for it (MONITOR)"
NAMED = r"redis-server.*(redis-cli|MONITOR)|redis-cli.*redis-server"
BLAMED = r"^(client|redis-server) .*redis-cli"
MOVED = r"redis-cli"
FELT = True


def play(scene):
    redis(scene)
    if scene.is_bad:
        for _ in range(8):
            scene.start("redis-cli", "-p", "6379", "MONITOR")
        time.sleep(0.5)

    def ask(link):
        link.sendall(b"".join(b"SET key:%d %s\r\n" % (number, b"x" * 50) for number in range(50)))
        count = 0
        while count < 50 * 5:
            count += len(link.recv(1000))

    linked_clients(scene, 6379, ask, name="client", pause_s=0.005, count=4)
    with scene.recording():
        time.sleep(1)

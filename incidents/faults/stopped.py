"""Redis is stopped for three seconds by a signal, as by a debugger, job control or a snapshot agent; its clients wait.

Source: signal(7): SIGSTOP; proc(5): state T; redis.io, "Diagnosing latency issues".
"""

import subprocess
import time

from programs import redis, redis_client

CAUSE = "redis-server was stopped by a signal (state T) for 3 s"
NAMED = r"redis-server.*stopped"
BLAMED = r"^client .*stopped redis-server"
MOVED = r"redis-server.*stopped"


def play(scene):
    redis(scene)
    redis_client(scene, "client", "GET", "key:42", count=4)
    with scene.recording():
        time.sleep(1)
        if scene.is_bad:
            subprocess.run(["pkill", "-STOP", "redis-server"], check=True)
            time.sleep(3)
            subprocess.run(["pkill", "-CONT", "redis-server"], check=True)

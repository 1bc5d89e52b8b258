"""A tool holds a server back by stopping it and continuing it, ten times a second.

Source: cpulimit(1): "it sends SIGSTOP and SIGCONT signals to the process".
"""

import os
import signal
import time
from pathlib import Path

from programs import redis, redis_client

CAUSE = "limiter stops redis-server again and again (SIGSTOP, SIGCONT)"
NAMED = r"stopped.*redis-server.*limiter"
BLAMED = r"client .*stopped redis-server"
MOVED = r"stopped"


def play(scene):
    redis(scene)
    names = Path("/proc").glob("[0-9]*/comm")
    number = next(int(name.parent.name) for name in names if name.read_text() == "redis-server\n")
    redis_client(scene, "client", "GET", "key:42", count=4)

    def hold() -> None:
        if scene.is_bad:
            os.kill(number, signal.SIGSTOP)
            time.sleep(0.06)
            os.kill(number, signal.SIGCONT)
        time.sleep(0.04)

    scene.fork("limiter", hold)
    with scene.recording():
        time.sleep(1)

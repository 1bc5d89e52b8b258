"""A program ends with an error just after it has started, and its supervisor starts it again and again.

Source: systemd.service(5), Restart= and StartLimitIntervalSec=.
"""

import textwrap
import time
from pathlib import Path

from programs import redis, redis_client

CAUSE = "shop.py ends just after its start and is started again"
NAMED = r"short_processes.*(shop|python3|keeper)|(shop|python3|keeper).*(start|ends)"
BLAMED = ""
MOVED = r"short_processes|execve|processes"


def play(scene):
    redis(scene)
    redis_client(scene, "client", "GET", "x")
    Path("/scene/shop.py").write_text(
        textwrap.dedent(
            f"""
            import json, http.client, time
            if {not scene.is_bad}:
                time.sleep(1000)
            open("/etc/shop.conf")
            """
        )
    )
    Path("/scene/keeper.sh").write_text("#!/bin/sh\nwhile :; do python3 /scene/shop.py; sleep 0.02; done\n")
    scene.start("sh", "/scene/keeper.sh")
    with scene.recording():
        time.sleep(1)

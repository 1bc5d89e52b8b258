"""A health check starts a shell and five programs for each line of a list, all the time.

Source: Brendan Gregg, "execsnoop": short-lived processes that no snapshot shows.
"""

import time
from pathlib import Path

from programs import redis, redis_client

CAUSE = "check.sh starts hundreds of short processes a second"
NAMED = r"(short|fork|exec|process).*(check|sh) ?\(|fork_storm|short_processes"
BLAMED = r"cpu_taken (sh|check|expr|true|grep|date)|^check\.sh .*running (expr|true|grep|date)"
MOVED = r"check|expr|sh "


def play(scene):
    redis(scene)
    redis_client(scene, "client", "PING", pause_s=0.005, count=2)
    pause = "" if scene.is_bad else "sleep 1"
    Path("/scene/check.sh").write_text(
        f"#!/bin/sh\nwhile true; do n=$(/usr/bin/expr 1 + 1); echo $n | /bin/grep -q 2; /bin/date >/dev/null; {pause}\ndone\n"
    )
    Path("/scene/check.sh").chmod(0o755)
    scene.start("/scene/check.sh")
    with scene.recording():
        time.sleep(1)

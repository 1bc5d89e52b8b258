"""The workers of a server are pinned to one CPU while another stands idle.

Source: taskset(1); Brendan Gregg, "Systems Performance", 2nd edition, 6.5: CPU binding.
"""

import os
import time
from pathlib import Path

from programs import gunicorn, web_clients

CAUSE = "gunicorn's workers may use CPU 0 only; other CPUs are idle"
NAMED = r"unclaimed_cpus.*CPU 0.*gunicorn"
BLAMED = r"gunicorn.*cpu_taken gunicorn"
TRUE_ALSO = r"cpu_saturation"  # two workers and two clients keep both CPUs busy
MOVED = r"gunicorn waits .* more for a CPU|gunicorn.*CPU"


def play(scene):
    gunicorn(
        scene,
        """
        import os, hashlib
        def app(environ, start_response):
            data = b"x" * 6000000
            hashlib.sha256(data).digest()
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=4",
    )
    time.sleep(1)
    if scene.is_bad:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            if b"gunicorn" in path.read_bytes():
                os.sched_setaffinity(int(path.parent.name), {0})
    web_clients(scene, "http://127.0.0.1:8000/", count=2, pause_s=0.004)
    with scene.recording():
        time.sleep(1)

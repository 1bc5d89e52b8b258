"""A worker of gunicorn grows past the limit of its control group, and the kernel kills it.

Source: Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst: memory.limit_in_bytes, memory.max.
"""

import time

from programs import get, gunicorn, web_clients

CAUSE = "gunicorn was killed because the group shop met its memory limit"
NAMED = r"oom_kill.*gunicorn"
BLAMED = ""
MOVED = r"oom|killed"


def play(scene):
    gunicorn(
        scene,
        """
        kept = []
        def app(environ, start_response):
            if environ["PATH_INFO"] == "/export":
                kept.append(bytearray(60_000_000))
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
        group=scene.group("shop", memory=150_000_000),
    )
    web_clients(scene, "http://127.0.0.1:8000/")
    with scene.recording():
        time.sleep(1)
        for _ in range(8 if scene.is_bad else 0):
            time.sleep(0.3)
            try:
                get("http://127.0.0.1:8000/export")
            except OSError:
                continue

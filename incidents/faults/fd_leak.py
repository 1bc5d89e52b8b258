"""A worker opens a file at each request and never closes it.

Source: proc(5), /proc/PID/fd; setrlimit(2), RLIMIT_NOFILE.
"""

import time

from programs import gunicorn, web_clients

SECONDS = 12
CAUSE = "gunicorn leaks descriptors of /etc/hostname"
NAMED = r"fd_leak.*gunicorn"
BLAMED = ""
MOVED = r"fd_leak|descriptor"


def play(scene):
    gunicorn(
        scene,
        f"""
        import os
        def app(environ, start_response):
            file = os.open("/etc/hostname", os.O_RDONLY)
            if not {scene.is_bad}:
                os.close(file)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=1",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=2, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

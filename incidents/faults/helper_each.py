"""A web application starts a program for each request, and waits for its end.

Source: CGI (RFC 3875) and why FastCGI replaced it: a process for each request.
"""

import time

from programs import gunicorn, kept_clients

CAUSE = "each request of gunicorn starts a python3 and waits for its end"
NAMED = r"(short_processes|answers_wait|requests).*(gunicorn|shop).*|short_processes.*python3"
BLAMED = r"^(gunicorn|client) .*python3"
MOVED = r"python3"


def play(scene):
    gunicorn(
        scene,
        f"""
        import subprocess, zlib
        def app(environ, start_response):
            if {scene.is_bad}:
                text = subprocess.run(["python3", "-c", "import json, zlib; print(1)"], capture_output=True).stdout
            else:
                text = b"1"
            start_response("200 OK", [("Content-Length", str(len(text)))])
            return [text]
        """,
        "--workers=1",
        "--threads=2",
    )
    kept_clients(scene, 8000, count=1, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

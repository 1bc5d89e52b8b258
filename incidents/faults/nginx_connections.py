"""nginx may have 12 connections (worker_connections): when all are in use, it closes each new one at once.

Source: nginx' documentation, worker_connections: "the maximum number of simultaneous connections", which includes those to proxied servers.
"""

import contextlib
import http.client
import time

from programs import get, gunicorn, nginx

CAUSE = "nginx closes new connections of client at once: all of its worker_connections are in use"
NAMED = r"client.*(without an answer|reset|closed|closes).*nginx|nginx.*(closed|closes|worker_connections|turns)"
BLAMED = ""
MOVED = r"(without an answer|closed|closes|reset).*nginx|nginx.*(closed|closes|reset|without an answer)"
TRUE_ALSO = r"sleep of the thread gunicorn"  # each answer takes its 30 ms in the healthy one too


def play(scene):
    gunicorn(
        scene,
        """
        import time
        def app(environ, start_response):
            time.sleep(0.03)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=1",
        "--threads=16",
    )
    nginx(
        scene,
        "location / { proxy_pass http://127.0.0.1:8000; }",
        events=f"worker_connections {12 if scene.is_bad else 512};",
    )

    def ask():
        with contextlib.suppress(http.client.HTTPException, OSError):
            get("http://127.0.0.1:8080/")
        time.sleep(0.02)

    scene.fork("client", ask, count=12)
    with scene.recording():
        time.sleep(1)

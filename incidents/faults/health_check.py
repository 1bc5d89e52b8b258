"""HAProxy asks the health page of its only server, which asks a slow database: when that takes over 100 ms the server counts as down, and all requests get an error at once.

Source: HAProxy's configuration manual, "timeout check", "fall"; "Site Reliability Engineering" (Google), chapter 22: health checking.
"""

import time
from pathlib import Path

from programs import gunicorn, web_clients

CAUSE = "haproxy gives up its checks of the server 127.0.0.1:8000 (gunicorn) after 100 ms and takes it out; it answers 503 itself"
NAMED = r"haproxy.*(8000|gunicorn).*(gave up|gives up|given up|check)|haproxy.*(gave up|gives up|given up|check).*(8000|gunicorn)"
BLAMED = r"^(client|haproxy) .*(8000|gunicorn)"
MOVED = NAMED
TRUE_ALSO = r"recvfrom failed .* ECONNRESET"  # HAProxy ends its connections to servers by a reset
FELT = True


def play(scene):
    gunicorn(
        scene,
        f"""
        import random, time
        def app(environ, start_response):
            if environ["PATH_INFO"] == "/health":
                time.sleep(random.uniform(0, {0.25 if scene.is_bad else 0.02}))
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=16",
    )
    Path("/scene/haproxy.cfg").write_text(
        "defaults\n mode http\n timeout connect 1s\n timeout client 30s\n timeout server 30s\n timeout check 100ms\n"
        "frontend shop\n bind 127.0.0.1:8080\n default_backend shop\n"
        "backend shop\n option httpchk GET /health\n server one 127.0.0.1:8000 check inter 200ms fall 1 rise 1\n"
    )
    scene.start("haproxy", "-f", "/scene/haproxy.cfg", "-db")
    scene.wait_port(8080)
    web_clients(scene, "http://127.0.0.1:8080/", count=4, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

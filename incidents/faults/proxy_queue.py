"""HAProxy lets one request at a time through to a service that could take twenty: the others queue up in HAProxy.

Source: HAProxy's configuration manual: server maxconn, "the excess connections will be queued".
"""

import time
from pathlib import Path

from programs import gunicorn, kept_clients

CAUSE = "requests queue in haproxy, which has one connection to 127.0.0.1:8000"
NAMED = r"haproxy.*127\.0\.0\.1:8000"
BLAMED = r"^client .*haproxy"
TRUE_ALSO = r"a sleep of the thread gunicorn"  # 20 ms of each request
MOVED = r"(haproxy|client) waits .*(8000|haproxy|gunicorn)"


def play(scene):
    gunicorn(
        scene,
        """
        import time
        def app(environ, start_response):
            time.sleep(0.02)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--workers=1",
        "--threads=20",
    )
    Path("/scene/haproxy.cfg").write_text(
        "defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n timeout queue 60s\n"
        "frontend f\n bind 127.0.0.1:8080\n default_backend b\n"
        f"backend b\n server s 127.0.0.1:8000 maxconn {1 if scene.is_bad else 20}\n"
    )
    scene.start("haproxy", "-db", "-f", "/scene/haproxy.cfg")
    scene.wait_port(8080)
    kept_clients(scene, 8080, count=12, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

"""One of the two servers behind HAProxy is gone and no check takes it out: what falls to it is tried again three times, a second apart.

Source: HAProxy's configuration manual, "retries": "if a connection attempt fails, a turn-around timer of 1 second is applied before a retry".
"""

import time
from pathlib import Path

from programs import gunicorn, kept_clients

CAUSE = "haproxy's connections to the server 127.0.0.1:8002 are refused; it waits a second before it tries again"
NAMED = r"haproxy.*127\.0\.0\.1:8002"
BLAMED = r"^client .*haproxy|^haproxy .*8002"
MOVED = r"haproxy.*8002"
FELT = True

APP = """
def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "5")])
    return [b"hello"]
"""


def play(scene):
    gunicorn(scene, APP, "--threads=8")
    if not scene.is_bad:
        gunicorn(scene, APP, "--threads=8", port=8002)
    Path("/scene/haproxy.cfg").write_text(
        "defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n"
        "frontend f\n bind 127.0.0.1:8080\n default_backend b\n"
        "backend b\n balance roundrobin\n server one 127.0.0.1:8000\n server two 127.0.0.1:8002\n"
    )
    scene.start("haproxy", "-db", "-f", "/scene/haproxy.cfg")
    scene.wait_port(8080)
    kept_clients(scene, 8080, count=6, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

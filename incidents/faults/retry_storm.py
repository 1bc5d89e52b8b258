"""HAProxy gives a server 50 ms to answer, which takes 80 ms, and asks again three times: the server works four times for an answer that nobody reads.

Source: "Site Reliability Engineering" (Google), chapter 22, "Retries" and "Deadlines"; HAProxy's manual, "timeout server", "retry-on".
"""

import time
from pathlib import Path

from programs import gunicorn, web_clients

CAUSE = "haproxy gives up on 127.0.0.1:8000 (gunicorn) after 50 ms, before its answer, and asks again"
NAMED = r"haproxy \(\d+\).*(8000|gunicorn).*(gave up|gives up|given up|timeout|asks again|retr)"
BLAMED = r"^(client|haproxy) .*(timeout|retr).*8000"
MOVED = r"haproxy.*(8000|gunicorn).*(gave up|gives up|given up|timeout|asks again|retr)"
TRUE_ALSO = r"a sleep of the thread gunicorn|recvfrom failed .* ECONNRESET"  # an answer takes 80 ms; HAProxy ends its connections to servers by a reset
FELT = True


def play(scene):
    gunicorn(
        scene,
        """
        import time
        def app(environ, start_response):
            time.sleep(0.08)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=40",
    )
    Path("/scene/haproxy.cfg").write_text(
        "defaults\n mode http\n timeout connect 1s\n timeout client 30s\n retries 3\n retry-on response-timeout\n"
        f" timeout server {'50ms' if scene.is_bad else '5s'}\n"
        "frontend shop\n bind 127.0.0.1:8080\n default_backend shop\nbackend shop\n server one 127.0.0.1:8000\n"
    )
    scene.start("haproxy", "-f", "/scene/haproxy.cfg", "-db")
    scene.wait_port(8080)
    web_clients(scene, "http://127.0.0.1:8080/", count=4, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

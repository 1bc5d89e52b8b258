"""The first name server does not answer: each look-up waits for 5 s before the second one is asked.

Source: resolv.conf(5), options timeout (5 s by default).
"""

import socket
import time
from pathlib import Path

from programs import get, gunicorn

SECONDS = 12
CAUSE = "the name server 127.0.0.53 does not answer"
NAMED = r"name server \(DNS\), 127\.0\.0\.53:53"
BLAMED = r"timeout.*127\.0\.0\.53|127\.0\.0\.53.*timeout"
MOVED = r"127\.0\.0\.53"


def play(scene):
    Path("/scene/hosts").write_text("127.0.0.1 localhost\n127.0.0.1 backend.internal\n")
    scene.start(
        "dnsmasq",
        "-k",
        "--no-resolv",
        "--no-hosts",
        "--addn-hosts=/scene/hosts",
        "--listen-address=127.0.0.54",
        "--bind-interfaces",
        "-u",
        "root",
    )
    first = "127.0.0.53" if scene.is_bad else "127.0.0.54"
    if scene.is_bad:  # it takes the question and never answers
        deaf = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        deaf.bind(("127.0.0.53", 53))
        scene.deaf = deaf
    Path("/etc/resolv.conf").write_text(f"nameserver {first}\nnameserver 127.0.0.54\n")
    gunicorn(
        scene,
        """
        import socket
        def app(environ, start_response):
            socket.getaddrinfo("backend.internal", 80, socket.AF_INET)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )

    def ask():
        get("http://127.0.0.1:8000/")
        time.sleep(0.2)

    scene.fork("client", ask, count=2)
    with scene.recording():
        time.sleep(1)

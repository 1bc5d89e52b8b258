"""A link drops what comes faster than it can send: connections wait for retransmissions.

Source: tc-tbf(8); RFC 6298.
"""

import time

from programs import gunicorn, kept_clients

CAUSE = "packets to 127.0.0.1:8000 are lost and sent again"
NAMED = r"tcp_retransmits"
BLAMED = r"^client call .*(network|127\.0\.0\.1:8000)"
MOVED = r"retransmi"


def play(scene):
    gunicorn(
        scene,
        """
        def app(environ, start_response):
            start_response("200 OK", [("Content-Length", "60000")])
            return [b"x" * 60000]
        """,
        "--workers=2",
        "--threads=4",
    )
    scene.run("ip", "link", "set", "lo", "mtu", "1500")
    kept_clients(scene, 8000)
    if scene.is_bad:
        scene.run("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "20mbit", "burst", "3kb", "limit", "6kb")
    with scene.recording():
        time.sleep(1)

"""The name server answers after 300 ms: each request of the service looks a name up first.

Source: "Systems Performance", 2nd edition, 10.4.2: name resolution latency.
"""

import socket
import threading
import time
from pathlib import Path

from programs import gunicorn, web_clients

CAUSE = "gunicorn waits for the name server 127.0.0.53:53, which answers after 300 ms"
NAMED = r"gunicorn.*(127\.0\.0\.53:53|resolver)"
BLAMED = r"^(gunicorn|client) .*(127\.0\.0\.53|resolver)"
MOVED = r"127\.0\.0\.53|resolver"


def play(scene):
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.bind(("127.0.0.53", 53))

    def serve():
        question, asker = door.recvfrom(512)
        answer = question[:2] + b"\x81\x80" + question[4:6] + b"\0\1\0\0\0\0" + question[12:]
        answer = answer.split(b"\0\0\x29")[0]  # no EDNS record
        answer += b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1"
        threading.Timer(0.3 if scene.is_bad else 0.001, door.sendto, (answer, asker)).start()

    scene.fork("resolver", serve)
    Path("/etc/resolv.conf").write_text("nameserver 127.0.0.53\n")
    gunicorn(
        scene,
        """
        import socket
        def app(environ, start_response):
            socket.getaddrinfo("backend.internal", 80, socket.AF_INET)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=4",
    )
    web_clients(scene, "http://127.0.0.1:8000/", pause_s=0.05)
    with scene.recording():
        time.sleep(1)

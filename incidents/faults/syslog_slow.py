"""The daemon that reads /dev/log is slow: each program that logs waits in send when the queue of the socket is full.

Source: unix(7) and net.unix.max_dgram_qlen; Bugzilla and mailing lists of rsyslog: a blocked syslogd stops sshd and cron.
"""

import time
from pathlib import Path

from programs import kept_clients

CAUSE = "gunicorn waits in send to its log socket, which syslogd reads slowly"
NAMED = r"gunicorn.*(syslogd|/scene/log)"
BLAMED = r"^(gunicorn|client) .*syslogd"
MOVED = r"syslogd|/scene/log"


def play(scene):
    from programs import gunicorn

    Path("/scene/syslogd.py").write_text(
        f"""
import ctypes, socket, time
ctypes.CDLL(None).prctl(15, b"syslogd", 0, 0, 0)
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind("/scene/log")
while True:
    log.recv(4096)
    time.sleep({0.03 if scene.is_bad else 0})
"""
    )
    scene.start("python3", "/scene/syslogd.py")
    scene.wait(lambda: Path("/scene/log").stat(), "syslogd")
    gunicorn(
        scene,
        """
        import socket
        log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        log.connect("/scene/log")
        def app(environ, start_response):
            for n in range(3):
                log.send(b"<14>shop: a request, step %d" % n)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--workers=1",
        "--threads=4",
    )
    kept_clients(scene, 8000, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

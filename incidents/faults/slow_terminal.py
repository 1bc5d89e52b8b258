"""A service was started by hand in an ssh session, and logs there. The session's network is slow, so sshd reads the terminal slowly, and each request waits to write.

Source: RFC 4254, section 5.2: who sends waits until the other side adjusts the channel's window; pty(7), termios(3): a write waits while the terminal takes no more.
"""

import os
import textwrap
import time
from pathlib import Path

from programs import web_clients

CAUSE = "gunicorn waits in write for its terminal (/dev/pts), of which sshd reads little"
NAMED = r"gunicorn.*(sshd|/dev/pts|ptmx|\btty|terminal)"
BLAMED = r"^(client|gunicorn) .*(sshd|/dev/pts|ptmx|\btty)"
MOVED = r"gunicorn.*(sshd|/dev/pts|ptmx|\btty|terminal)"
FELT = True


def play(scene):
    screen, terminal = os.openpty()
    path = os.ttyname(terminal)
    Path("/scene/app8000.py").write_text(
        textwrap.dedent(
            """
            import os
            def app(environ, start_response):
                os.write(1, b"a line of the log that says what was asked for\\n" * 40)
                start_response("200 OK", [])
                return [b"hello"]
            """
        )
    )

    def show():
        os.read(screen, 4096)
        time.sleep(0.1 if scene.is_bad else 0)

    scene.fork("sshd", show)
    words = "exec gunicorn --bind 127.0.0.1:8000 --log-level=warning --workers=2 app8000:app"
    scene.start("sh", "-c", f"{words} > {path}", PYTHONPATH="/scene")
    scene.wait_port(8000)
    web_clients(scene, "http://127.0.0.1:8000/", count=3, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

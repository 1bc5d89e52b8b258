"""The file system of uploads is full: each write fails, and the program tries again later.

Source: write(2), ENOSPC.
"""

import contextlib
import time
from pathlib import Path

from programs import get, gunicorn

CAUSE = "gunicorn's writes fail: no space is left on the file system of /var/tmp/uploads"
NAMED = r"gunicorn.*ENOSPC"
BLAMED = ""
MOVED = r"ENOSPC|failing_calls"


def play(scene):
    Path("/var/tmp/uploads").mkdir(exist_ok=True)
    scene.file_system("/var/tmp/uploads", "20M")
    if scene.is_bad:
        with open("/var/tmp/uploads/old", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * (1 << 16))
            except OSError:
                pass
    gunicorn(
        scene,
        """
        import os
        def app(environ, start_response):
            path = f"/var/tmp/uploads/{os.getpid()}"
            try:
                with open(path, "wb") as file:
                    file.write(b"x" * 20000)
                start_response("200 OK", [])
            except OSError:
                start_response("507 Insufficient Storage", [])
            return [b"hello"]
        """,
        "--workers=2",
    )

    def ask():
        with contextlib.suppress(OSError):
            get("http://127.0.0.1:8000/")
        time.sleep(0.01)

    scene.fork("client", ask, count=4)
    with scene.recording():
        time.sleep(1)

"""A file system went read-only, as ext4 does after an error: a service cannot store what it gets.

Source: mount(8), "errors=remount-ro"; open(2), EROFS.
"""

import contextlib
import time

from programs import get, gunicorn

CAUSE = "gunicorn cannot write to /mnt: the file system is read-only"
NAMED = r"gunicorn.*EROFS"
BLAMED = ""
MOVED = r"EROFS"


def play(scene):
    scene.file_system("/mnt", "64M")
    gunicorn(
        scene,
        """
        import os
        def app(environ, start_response):
            try:
                with open(f"/mnt/{os.getpid()}", "ab") as file:
                    file.write(b"x" * 200)
                start_response("200 OK", [])
            except OSError:
                start_response("500 Internal Server Error", [])
            return [b"hello"]
        """,
        "--workers=2",
    )
    if scene.is_bad:
        scene.run("mount", "-o", "remount,ro", "/mnt")

    def ask():
        with contextlib.suppress(OSError):
            get("http://127.0.0.1:8000/")
        time.sleep(0.02)

    scene.fork("client", ask, count=3)
    with scene.recording():
        time.sleep(1)

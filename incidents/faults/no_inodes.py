"""The file system of sessions has room, but no inode left: no file can be created, though df says that it is nearly empty.

Source: open(2), ENOSPC; tmpfs(5), nr_inodes; "df -i" in df(1).
"""

import contextlib
import time
from pathlib import Path

from programs import get, gunicorn

CAUSE = "gunicorn cannot create files on /var/tmp/sessions: its inodes are used up (not its space)"
NAMED = r"gunicorn.*inode|inode.*(/var/tmp/sessions|gunicorn)|/var/tmp/sessions.*inode"
BLAMED = ""
MOVED = r"inode"
FELT = True


def play(scene):
    folder = Path("/var/tmp/sessions")
    folder.mkdir(exist_ok=True)
    scene.run("mount", "-t", "tmpfs", "-o", "size=64M,nr_inodes=2000,mode=1777", "sessions", str(folder))
    if scene.is_bad:
        with contextlib.suppress(OSError):
            for number in range(3000):
                (folder / f"old-{number}").touch()
    gunicorn(
        scene,
        """
        import os, uuid
        def app(environ, start_response):
            path = f"/var/tmp/sessions/{uuid.uuid4()}"
            try:
                with open(path, "wb") as file:
                    file.write(b"x" * 200)
                os.unlink(path)
                start_response("200 OK", [])
            except OSError:
                start_response("500 Internal Server Error", [])
            return [b"hello"]
        """,
        "--workers=2",
    )

    def ask():
        with scene.clock.asking():
            get("http://127.0.0.1:8000/")
        time.sleep(0.02)

    scene.fork("client", ask, count=3)
    with scene.recording():
        time.sleep(1)

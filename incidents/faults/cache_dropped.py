"""A backup is told to leave the page cache as it was: it drops the pages of each file that it has looked at, also those that a service reads all day.

Source: posix_fadvise(2), POSIX_FADV_DONTNEED; rsync's patch --drop-cache; "nocache": pages that others use go as well.
"""

import os
import time
from pathlib import Path

from programs import gunicorn, kept_clients

CAUSE = "backup drops the pages of /mnt/*.html from the page cache (fadvise64), so gunicorn reads them from the disk (loop) again and again"
NAMED = r"backup"
BLAMED = r"^(client|gunicorn) .*(disk|loop)"
MOVED = r"(disk|loop|backup)"
FELT = True


def play(scene):
    device = scene.file_system("/mnt", "128M")
    pages = [Path(f"/mnt/{number}.html") for number in range(100)]
    for page in pages:
        page.write_bytes(b"x" * 400_000)
    os.sync()
    gunicorn(
        scene,
        """
        import random
        def app(environ, start_response):
            with open(f"/mnt/{random.randrange(100)}.html", "rb") as page:
                size = len(page.read())
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--workers=2",
        "--threads=4",
    )
    scene.throttle(device, 100)

    def copy():
        for page in pages:
            file = os.open(page, os.O_RDONLY)
            os.pread(file, 4096, 0)
            if scene.is_bad:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
            time.sleep(0.002)

    scene.fork("backup", copy)
    kept_clients(scene, 8000, count=4, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

"""A backup writes faster than its disk can. The service only writes lines of a log there, but the kernel lets it wait until pages are clean.

Source: the kernel's documentation, sysctl/vm.rst (dirty_ratio), ABI/testing/sysfs-class-bdi (strict_limit); LWN.net, "No-I/O dirty throttling" (2011).
"""

import time
from pathlib import Path

from programs import gunicorn, kept_clients

CAUSE = "gunicorn waits in write to /mnt/shop.log: backup has made more pages dirty than the disk (loop) may have"
NAMED = r"gunicorn.*(backup|/mnt/shop|loop\d)|backup.*gunicorn"
BLAMED = r"^(client|gunicorn) .*(backup|/mnt/shop|loop\d|disk)"
MOVED = r"gunicorn.*(backup|/mnt/shop|loop\d)|backup.*gunicorn"
FELT = True


def play(scene):
    device = scene.file_system("/mnt", "1G")
    number = (Path("/sys/class/block") / Path(device).name / "dev").read_text().strip()
    for file, text, usual in (("strict_limit", "1", "0"), ("max_bytes", f"{16 << 20}", "")):
        path = Path(f"/sys/class/bdi/{number}/{file}")
        scene.throttled[path] = usual or path.read_text()
        path.write_text(text)
    gunicorn(
        scene,
        """
        log = open("/mnt/shop.log", "ab", buffering=0)
        def app(environ, start_response):
            log.write(b"x" * 20_000)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=4",
    )
    scene.throttle(device, 60)
    pages = bytes(1 << 20)

    def back_up():
        with open("/mnt/backup", "wb", buffering=0) as file:
            for _ in range(500):
                file.write(pages)

    if scene.is_bad:
        scene.fork("backup", back_up)
    kept_clients(scene, 8000, count=4, pause_s=0.05)
    time.sleep(2)
    with scene.recording():
        time.sleep(1)

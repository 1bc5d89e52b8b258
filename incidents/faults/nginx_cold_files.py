"""nginx's only worker reads pictures that are not in memory from a slow disk: its event loop stands still meanwhile, also for answers that need no file.

Source: nginx's blog, "Thread Pools in NGINX Boost Performance 9x!": the disk is slow and the worker process blocks on it.
"""

import http.client
import os
import random
import threading
import time
from pathlib import Path

from programs import kept_clients, nginx

CAUSE = "nginx waits in its event loop for a disk (/mnt/www)"
NAMED = r"nginx.*(disk|loop\d|pread|sendfile|/mnt/www)"
BLAMED = r"^(client|gallery|nginx) .*(disk|loop\d|pread|sendfile|/mnt/www)"
MOVED = r"nginx.*(disk|loop\d|pread|sendfile|/mnt/www)"
FELT = True


def play(scene):
    device = scene.file_system("/mnt", "512M")
    Path("/mnt/www").mkdir()
    for number in range(900):
        with open(f"/mnt/www/{number}.jpg", "wb") as file:
            file.write(os.urandom(200_000))
            file.flush()
            if scene.is_bad:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    os.sync()
    nginx(scene, "root /mnt/www; location = /ping { return 200 'yes'; }")
    scene.throttle(device, 80)
    links = {}

    def show():
        link = links.setdefault(threading.get_ident(), http.client.HTTPConnection("127.0.0.1", 8080, timeout=60))
        link.request("GET", f"/{random.randint(0, 899)}.jpg")
        link.getresponse().read()
        time.sleep(0.02)

    scene.fork("gallery", show, count=2)
    kept_clients(scene, 8080, "/ping", count=3, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

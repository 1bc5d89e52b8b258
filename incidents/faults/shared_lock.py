"""Worker processes share a lock in memory, and one holds it while it writes to a slow disk.

Source: Python documentation, multiprocessing.Lock (a POSIX semaphore); Gregg, "Systems Performance", 5.2.5: locks.
"""

import textwrap
import time
from pathlib import Path

from programs import kept_clients

CAUSE = "gunicorn's workers wait for a lock in shared memory that another worker holds in fsync"
NAMED = r"gunicorn.*(lock|futex|fsync).*(fsync|disk|loop|lock)"
BLAMED = r"^(gunicorn|client) .*(fsync|disk|lock)"
MOVED = r"gunicorn.*(fsync|disk|lock|loop)"


def play(scene):
    device = scene.file_system("/mnt", "128M")
    Path("/scene/conf.py").write_text("preload_app = True\n")
    Path("/scene/app8000.py").write_text(
        textwrap.dedent(
            """
            import multiprocessing, os
            lock = multiprocessing.Lock()
            def app(environ, start_response):
                with lock:
                    with open("/mnt/journal", "ab") as file:
                        file.write(b"x" * 100)
                        file.flush()
                        os.fsync(file.fileno())
                start_response("200 OK", [("Content-Length", "5")])
                return [b"hello"]
            """
        )
    )
    scene.start(
        "gunicorn", "--config", "/scene/conf.py", "--bind", "127.0.0.1:8000", "--log-level=warning", "--workers=4", "app8000:app",
        PYTHONPATH="/scene",
    )  # fmt: skip
    scene.wait_port(8000)
    if scene.is_bad:
        scene.throttle(device, 60)
    kept_clients(scene, 8000, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

"""A service writes a line to its audit log in each request, and flushes it to the disk each time: the disk is as slow as ever (200 a second).

Source: fsync(2); PostgreSQL manual, wal_sync_method and commit_delay: a flush for each transaction is what groups of them avoid.
"""

import time

from programs import gunicorn, web_clients

CAUSE = "gunicorn flushes audit.log with fsync in each request"
NAMED = r"gunicorn.*(fsync|fdatasync).*audit\.log|gunicorn.*audit\.log.*(fsync|fdatasync)"
BLAMED = r"^(client|gunicorn) .*(fsync|audit\.log|disk)"
MOVED = r"(fsync|audit\.log)"


def play(scene):
    device, folder = scene.file_system("/mnt", "64M"), "/mnt"
    scene.throttle(device, 200)
    gunicorn(
        scene,
        f"""
        import os
        log = open("{folder}/audit.log", "ab", buffering=0)
        def app(environ, start_response):
            log.write(b"somebody asked for " + environ["PATH_INFO"].encode() + b"\\n")
            if {scene.is_bad}:
                os.fsync(log.fileno())
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=3)
    with scene.recording():
        time.sleep(1)

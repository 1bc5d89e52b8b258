"""A setting that was meant for another file opens the log of a service with O_DSYNC: each line waits until the disk has it (200 a second).

Source: open(2), O_DSYNC: a write returns when the data has been transferred to the hardware, as if fdatasync(2) followed.
"""

import time

from programs import gunicorn, web_clients

CAUSE = "gunicorn waits in write to /mnt/access.log, which is open with O_DSYNC, for the disk (loop)"
NAMED = r"gunicorn.*(write\b.*access\.log|access\.log.*write\b)"
BLAMED = r"^(client|gunicorn) .*(access\.log|disk|loop)"
MOVED = r"(access\.log|disk|loop)"
FELT = True


def play(scene):
    scene.throttle(scene.file_system("/mnt", "64M"), 200)
    gunicorn(
        scene,
        f"""
        import os
        log = os.open("/mnt/access.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND | (os.O_DSYNC if {scene.is_bad} else 0))
        def app(environ, start_response):
            for step in (b"asked", b"looked up", b"answered"):
                os.write(log, step + b" " + environ["PATH_INFO"].encode() + b"\\n")
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=3)
    with scene.recording():
        time.sleep(1)

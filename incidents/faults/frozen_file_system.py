"""The file system of a service's log is frozen for some seconds (a snapshot of a volume): who writes there hangs.

Source: fsfreeze(8).
"""

import time

from programs import gunicorn, web_clients

CAUSE = "gunicorn's writes to /mnt/audit.log hang: the file system is frozen"
NAMED = r"stuck_thread.*gunicorn|gunicorn.*audit\.log"
BLAMED = r"^gunicorn .*(fdatasync|write|fsync).*"
MOVED = r"gunicorn waits .*(write|fdatasync|audit)"


def play(scene):
    scene.file_system("/mnt", "64M")
    gunicorn(
        scene,
        """
        import os
        file = os.open("/mnt/audit.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        def app(environ, start_response):
            os.write(file, b"x" * 5000)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/")
    with scene.recording():
        if scene.is_bad:
            time.sleep(1)
            scene.run("fsfreeze", "--freeze", "/mnt")
            time.sleep(4)
            scene.run("fsfreeze", "--unfreeze", "/mnt")

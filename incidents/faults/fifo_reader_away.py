"""A service writes each line of its log to a FIFO that it opens again; the program that reads it is away for a while after each line.

Source: fifo(7): "Opening a FIFO for writing normally blocks until the other end is opened also."
"""

import os
import time

from programs import gunicorn, kept_clients

CAUSE = "gunicorn waits in openat of the FIFO /scene/log.pipe until logger opens it, which sleeps after each line"
NAMED = r"gunicorn.*(logger|log\.pipe)"
BLAMED = r"^(client|gunicorn) .*(logger|log\.pipe)"
MOVED = r"gunicorn.*(logger|log\.pipe)"
FELT = True


def play(scene):
    os.mkfifo("/scene/log.pipe")

    def read():
        with open("/scene/log.pipe", "rb") as lines:
            lines.read()
        if scene.is_bad:
            time.sleep(0.1)

    scene.fork("logger", read)
    gunicorn(
        scene,
        """
        def app(environ, start_response):
            with open("/scene/log.pipe", "ab", buffering=0) as log:
                log.write(b"somebody asked\\n")
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=4",
    )
    kept_clients(scene, 8000, count=3, pause_s=0.03)
    with scene.recording():
        time.sleep(1)

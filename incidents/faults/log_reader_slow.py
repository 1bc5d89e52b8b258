"""A program writes its log to a pipe whose reader is slow: when the pipe is full, each request waits for the reader.

Source: pipe(7), "Pipe capacity".
"""

import textwrap
import time
from pathlib import Path

from programs import web_clients

CAUSE = "gunicorn's writes to its log wait for logger, which reads the pipe slowly"
NAMED = r"gunicorn.*(pipe|logger)"
BLAMED = r"^gunicorn .*write.*(logger|pipe)"
MOVED = r"gunicorn.*(pipe|logger)"


def play(scene):
    Path("/scene/app8000.py").write_text(
        textwrap.dedent(
            """
            import os
            def app(environ, start_response):
                os.write(1, b"x" * 2000)
                start_response("200 OK", [])
                return [b"hello"]
            """
        )
    )
    Path("/scene/logger.py").write_text(
        textwrap.dedent(
            f"""
            import ctypes, os, time
            ctypes.CDLL(None).prctl(15, b"logger", 0, 0, 0)
            while os.read(0, 4096):
                time.sleep({0.05 if scene.is_bad else 0})
            """
        )
    )
    scene.start(
        "sh",
        "-c",
        "gunicorn --bind 127.0.0.1:8000 --log-level=warning --workers=2 app8000:app | python3 /scene/logger.py",
        PYTHONPATH="/scene",
    )
    scene.wait_port(8000)
    web_clients(scene, "http://127.0.0.1:8000/")
    with scene.recording():
        time.sleep(1)

"""A spool directory has grown to a hundred thousand files, because nobody removes the old ones: each request lists it to find the newest.

Source: "Systems Performance", 2nd edition, 8.3.8: file system metadata operations; getdents(2).
"""

import time
from pathlib import Path

from programs import gunicorn, kept_clients

CAUSE = "gunicorn lists /var/tmp/scene/spool, which has a hundred thousand files, in each request"
NAMED = r"gunicorn.*(getdents|/scene/spool)"
BLAMED = r"^(client|gunicorn) .*(getdents|/scene/spool|gunicorn)"
MOVED = r"getdents|spool"
FELT = True


def play(scene):
    spool = scene.disk() / "spool"
    spool.mkdir()
    for number in range(100_000 if scene.is_bad else 100):
        Path(spool / f"order-{number:08}.json").touch()
    gunicorn(
        scene,
        f"""
        import os
        def app(environ, start_response):
            newest = max(os.listdir("{spool}"))
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--workers=2",
    )
    kept_clients(scene, 8000, count=2, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

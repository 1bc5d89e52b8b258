"""A worker keeps a megabyte of each request for ever.

Source: proc(5), /proc/PID/statm; "Systems Performance", 2nd edition, 7.4.
"""

import time

from programs import gunicorn, web_clients

SECONDS = 15
CAUSE = "gunicorn leaks memory"
NAMED = r"memory_growth_steady.*gunicorn"
BLAMED = ""
MOVED = r"memory_growth|gunicorn"


def play(scene):
    gunicorn(
        scene,
        f"""
        kept = []
        def app(environ, start_response):
            data = bytearray(b"x" * 1000000)
            if {scene.is_bad}:
                kept.append(data)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=1",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=1, pause_s=0.15)
    with scene.recording():
        time.sleep(1)

"""A retry with a fixed pause was left in the code: each request sleeps for 150 ms.

Source: time.sleep of Python's documentation; clock_nanosleep(2).
"""

import time

from programs import gunicorn, web_clients

CAUSE = "gunicorn sleeps in each request"
NAMED = r"gunicorn.*sleep"
BLAMED = r"^(gunicorn|client) .*(sleep|nanosleep)"
MOVED = r"gunicorn.*(sleep|waits)"


def play(scene):
    gunicorn(
        scene,
        f"""
        import time
        def app(environ, start_response):
            for attempt in range(3):
                time.sleep({0.05 if scene.is_bad else 0.0002})
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=4",
    )
    web_clients(scene, "http://127.0.0.1:8000/")
    with scene.recording():
        time.sleep(1)

"""Both workers of gunicorn are held by slow clients' exports: quick requests wait for a free one.

Source: gunicorn's documentation, "Design": sync workers handle a single request at a time.
"""

import time

from programs import gunicorn, web_clients

CAUSE = "all workers of gunicorn sleep in slow requests; others queue up"
NAMED = r"gunicorn.*a sleep of the thread gunicorn|pool_asleep.*gunicorn"
BLAMED = r"^(fast|client) .*gunicorn clock_nanosleep"
MOVED = r"(fast|gunicorn) waits .*(gunicorn|sleep)"


def play(scene):
    gunicorn(
        scene,
        """
        import time
        def app(environ, start_response):
            time.sleep(0.8 if environ["PATH_INFO"] == "/export" else 0.001)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=2, name="fast")
    web_clients(
        scene, f"http://127.0.0.1:8000/{'export' if scene.is_bad else ''}", count=2, name="exporter", pause_s=0.05
    )
    with scene.recording():
        time.sleep(1)

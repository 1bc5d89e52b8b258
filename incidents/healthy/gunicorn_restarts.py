"""Gunicorn replaces each worker after 150 requests, as its manual advises against leaks (max_requests)."""

import time

from programs import gunicorn, web_clients


def play(scene):
    gunicorn(
        scene,
        """
        def app(environ, start_response):
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--workers=3",
        "--max-requests=150",
        "--max-requests-jitter=50",
    )
    web_clients(scene, "http://127.0.0.1:8000/", pause_s=0.03)
    with scene.recording():
        time.sleep(1)

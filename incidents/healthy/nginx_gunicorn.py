"""Nginx before two workers of gunicorn, over a Unix socket: a page takes some milliseconds of computing."""

import time

from programs import gunicorn, kept_clients, nginx


def play(scene):
    gunicorn(
        scene,
        """
        def app(environ, start_response):
            words = sorted(str(n * 7919 % 10007) for n in range(5000))
            start_response("200 OK", [("Content-Length", "5")])
            return [words[0].encode().ljust(5)]
        """,
        "--workers=2",
        "--bind=unix:/scene/app.sock",
    )
    nginx(scene, "location / { proxy_pass http://unix:/scene/app.sock; }")
    kept_clients(scene, 8080, count=4, pause_s=0.04)
    with scene.recording():
        time.sleep(1)

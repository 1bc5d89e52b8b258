"""The service behind nginx takes 200 ms for what took 2 ms: nginx and the service's own CPU are fine.

Source: the four golden signals, "Site Reliability Engineering", chapter 6: latency of a dependency.
"""

import time

from programs import gunicorn, nginx, web_clients

CAUSE = "nginx waits for the answers of gunicorn at 127.0.0.1:8000, which sleeps"
NAMED = r"(nginx|gunicorn).*a sleep of the thread gunicorn|nginx.*127\.0\.0\.1:8000"
BLAMED = r"^nginx .*(127\.0\.0\.1:8000|gunicorn)"
MOVED = r"nginx.*(127\.0\.0\.1:8000|gunicorn)|gunicorn waits"


def play(scene):
    gunicorn(
        scene,
        f"""
        import time
        def app(environ, start_response):
            time.sleep({0.2 if scene.is_bad else 0.002})
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=1",
        "--threads=8",
    )
    nginx(scene, "location / { proxy_pass http://127.0.0.1:8000; }")
    web_clients(scene, "http://127.0.0.1:8080/")
    with scene.recording():
        time.sleep(1)

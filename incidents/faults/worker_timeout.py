"""gunicorn kills a worker that does not answer for a second (--timeout 1): its client's connection closes without an answer.

Source: gunicorn's settings, timeout: "Workers silent for more than this many seconds are killed and restarted".
"""

import time

from programs import gunicorn, web_clients

CAUSE = "gunicorn kills workers that hang in a request; connections close without an answer"
NAMED = r"reporter.*without an answer.*gunicorn"
MOVED = r"(killed|without an answer|gunicorn)"


def play(scene):
    gunicorn(
        scene,
        f"""
        import time
        count = 0
        def app(environ, start_response):
            if environ["PATH_INFO"] == "/report":
                time.sleep({30 if scene.is_bad else 0.001})
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
        "--timeout=1",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=2, name="fast")
    web_clients(scene, "http://127.0.0.1:8000/report", count=1, name="reporter", pause_s=0.2)
    with scene.recording():
        time.sleep(1)

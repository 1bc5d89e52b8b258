"""nginx asks gunicorn by a Unix socket whose accept queue is full: connect fails with EAGAIN, and nginx answers 502.

Source: unix(7): EAGAIN of connect; nginx's error log "connect() to unix:… failed (11: Resource temporarily unavailable)".
"""

import time

from programs import nginx, web_clients

CAUSE = "the accept queue of gunicorn's socket /scene/app.sock is full: connects of nginx fail with EAGAIN"
NAMED = r"nginx.*connect.*EAGAIN|(accept queue|listen_overflow).*(gunicorn|app\.sock)"
TRUE_ALSO = r"failing_calls .*EAGAIN"  # a backlog of 2 is full now and then
MOVED = r"nginx.*connect|accept queue"


def play(scene):
    from pathlib import Path

    Path("/scene/app.py").write_text(
        "import time\ndef app(environ, start_response):\n"
        f"    time.sleep({0.2 if scene.is_bad else 0.001})\n    start_response('200 OK', [])\n    return [b'hello']\n"
    )
    scene.start(
        "gunicorn",
        "--bind",
        "unix:/scene/app.sock",
        "--backlog=2",
        "--umask=0",
        "--log-level=warning",
        "app:app",
        PYTHONPATH="/scene",
    )
    scene.wait(lambda: Path("/scene/app.sock").stat(), "gunicorn")
    nginx(scene, "location / { proxy_pass http://unix:/scene/app.sock; }", workers=2)
    web_clients(scene, "http://127.0.0.1:8080/", count=12, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

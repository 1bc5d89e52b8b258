"""A service is down: each connection to it is refused, and the caller tries again and again.

Source: connect(2), ECONNREFUSED.
"""

import time

from programs import gunicorn, web_clients

CAUSE = "connections to 127.0.0.1:9999 are refused"
NAMED = r"failing_calls.*(connect|ECONNREFUSED)"
BLAMED = ""
MOVED = r"ECONNREFUSED|connect"


def play(scene):
    port = 9999 if scene.is_bad else 8001
    gunicorn(scene, "def app(e, s):\n    s('200 OK', [])\n    return [b'x']\n", port=8001)
    gunicorn(
        scene,
        f"""
        import socket
        def app(environ, start_response):
            try:
                socket.create_connection(("127.0.0.1", {port}), 1).close()
            except OSError:
                pass
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/")
    with scene.recording():
        time.sleep(1)

"""Clients on a slow network send half a request and then nothing for seconds: each holds a worker of gunicorn meanwhile.

Source: gunicorn's documentation, "Deploying Gunicorn": without a proxy that buffers slow clients it is susceptible to denial of service.
"""

import socket
import time

from programs import gunicorn, web_clients

CAUSE = "the workers of gunicorn wait for the rest of requests of phone"
NAMED = r"gunicorn.*phone"
BLAMED = r"^(fast|gunicorn) .*phone"
MOVED = r"(fast|gunicorn) waits .*phone"


def play(scene):
    gunicorn(
        scene,
        """
        def app(environ, start_response):
            environ["wsgi.input"].read()
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )

    def upload():
        with socket.create_connection(("127.0.0.1", 8000)) as link:
            link.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n0123456789")
            time.sleep(1.5 if scene.is_bad else 0.001)
            link.sendall(b"0123456789")
            link.recv(1000)
        time.sleep(0.1)

    web_clients(scene, "http://127.0.0.1:8000/", count=2, name="fast")
    scene.fork("phone", upload, count=2)
    with scene.recording():
        time.sleep(1)

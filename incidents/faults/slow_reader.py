"""A client reads a large answer slowly: the only worker waits in send until it has taken all, and others wait for the worker.

Source: gunicorn's documentation, "Deploying": sync workers are susceptible to slow clients.
"""

import socket
import time

from programs import gunicorn, web_clients

CAUSE = "the worker of gunicorn waits in send for phone, which reads slowly"
NAMED = r"gunicorn.*(phone|send)|phone"
BLAMED = r"^(client|gunicorn) .*(phone|send)"
MOVED = r"phone|send"


def play(scene):
    gunicorn(
        scene,
        """
        def app(environ, start_response):
            start_response("200 OK", [])
            return [b"x" * (30_000_000 if environ["PATH_INFO"] == "/film" else 100)]
        """,
        "--workers=1",
    )

    def read():
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        link.connect(("127.0.0.1", 8000))
        link.sendall(b"GET /film HTTP/1.0\r\n\r\n")
        while link.recv(50_000):
            time.sleep(0.02 if scene.is_bad else 0)
        link.close()
        time.sleep(0.3)

    scene.fork("phone", read)
    web_clients(scene, "http://127.0.0.1:8000/", count=2)
    with scene.recording():
        time.sleep(1)

"""A client of Redis was told to use a receive buffer of 4 kB, to save memory: answers of 300 kB come in pieces, each after the one before was read.

Source: socket(7), SO_RCVBUF; tcp(7), "the maximum size of a window"; RFC 9293, 3.8.6 (a window that is too small).
"""

import time

from programs import ask_redis, gunicorn, kept_clients, redis

CAUSE = (
    "the receive buffer of gunicorn's socket to redis (127.0.0.1:6379) is 4 kB: its window is closed again and again"
)
NAMED = r"gunicorn.*(receive buffer|window)|(receive buffer|window).*gunicorn"
BLAMED = r"^(client|gunicorn) .*(receive buffer|window|6379|redis)"
MOVED = r"(receive buffer|window|6379|redis)"
FELT = True


def play(scene):
    import socket

    redis(scene)
    with socket.create_connection(("127.0.0.1", 6379)) as link:
        ask_redis(link, "SET", "page", "x" * 300_000)
    gunicorn(
        scene,
        f"""
        import socket, threading
        own = threading.local()
        def connect():
            link = socket.socket()
            if {scene.is_bad}:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            link.connect(("127.0.0.1", 6379))
            return link
        def app(environ, start_response):
            link = own.link = getattr(own, "link", None) or connect()
            link.sendall(b"GET page\\r\\n")
            size = 0
            while size < 300_011:
                size += len(link.recv(65536))
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=4",
    )
    kept_clients(scene, 8000, count=4, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

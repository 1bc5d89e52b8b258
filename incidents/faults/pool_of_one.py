"""All threads of a service share one connection to Redis, below a lock, and a command takes 30 ms: they stand in line for it.

Source: "Systems Performance", 2nd edition, 5.5.5: lock contention; the manual pages of connection pools (maximum size).
"""

import time

from programs import gunicorn, redis, web_clients

CAUSE = "the threads of gunicorn wait for the one that has the connection to Redis (127.0.0.1:6379)"
NAMED = r"gunicorn.*(lock|127\.0\.0\.1:6379|redis)"
BLAMED = r"^gunicorn .*(futex|redis|6379)"
MOVED = r"gunicorn waits .*(redis|6379|lock|futex)"


def play(scene):
    redis(scene)
    gunicorn(
        scene,
        f"""
        import socket, threading
        lock, link = threading.Lock(), []
        def app(environ, start_response):
            with lock:
                if not link:
                    link.append(socket.create_connection(("127.0.0.1", 6379)))
                link[0].sendall(b"DEBUG SLEEP {0.03 if scene.is_bad else 0.0001}\\r\\n")
                link[0].recv(100)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=1",
        "--threads=8",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=6)
    with scene.recording():
        time.sleep(1)

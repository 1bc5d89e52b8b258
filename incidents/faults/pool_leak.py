"""A handler forgets to give a connection back to its pool when it fails: soon the pool is empty, and each request waits until its time is over.

Source: HikariCP's wiki, "About Pool Sizing", and its setting leakDetectionThreshold: a connection that left the pool and does not come back.
"""

import time

from programs import gunicorn, kept_clients, redis

CAUSE = "the pool of gunicorn is empty and nobody will fill it: its threads wait in futex until their time is over"
NAMED = (
    r"gunicorn.*(futex|lock|semaphore|condition).*(time is over|time was over|timed? ?out|until|without)"
    r"|gunicorn.*a timed wait that nobody ended.*\(in futex\)"
)
BLAMED = r"^(client|gunicorn) .*(futex|lock|timeout).*gunicorn|^(client|gunicorn) .*gunicorn.*(futex|timeout)"
MOVED = r"gunicorn.*(futex|time)"
FELT = True


def play(scene):
    redis(scene)
    gunicorn(
        scene,
        f"""
        import itertools, queue, socket
        pool = queue.Queue()
        for _ in range(6):
            pool.put(socket.create_connection(("127.0.0.1", 6379)))
        numbers = itertools.count(1)
        def app(environ, start_response):
            try:
                link = pool.get(timeout=1)
            except queue.Empty:
                start_response("503 Service Unavailable", [("Content-Length", "0")])
                return []
            try:
                link.sendall(b"GET x\\r\\n")
                link.recv(100)
                if next(numbers) % 50 == 0:
                    raise ValueError("this order has no customer")
                pool.put(link)
            except ValueError:
                if not {scene.is_bad}:
                    pool.put(link)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=8",
    )
    kept_clients(scene, 8000, count=8, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

"""Requests take a lock that is a key in Redis. A nightly job has it nearly all of the time: each request asks for it again and again, and sleeps between.

Source: Redis' manual, "Distributed Locks with Redis": SET with NX and PX, "retry after a random delay".
"""

import socket
import time

from programs import ask_redis, gunicorn, redis, web_clients

CAUSE = "gunicorn asks redis (127.0.0.1:6379) for a lock that nightly has, again and again, and sleeps between"
NAMED = r"gunicorn.*(6379|redis|nightly)"
BLAMED = r"^(client|gunicorn) .*(6379|redis|nightly)"
MOVED = r"gunicorn.*(6379|redis|nightly)"
FELT = True


def play(scene):
    redis(scene)
    links = []

    def work():
        links[:] = links or [socket.create_connection(("127.0.0.1", 6379))]
        while b"OK" not in ask_redis(links[0], "SET", "stock-lock", "nightly", "NX", "PX", "5000"):
            time.sleep(0.005)
        time.sleep(0.7 if scene.is_bad else 0.002)
        ask_redis(links[0], "DEL", "stock-lock")
        time.sleep(0.05)

    scene.fork("nightly", work)
    gunicorn(
        scene,
        """
        import random, socket, sys, threading, time
        sys.path.append("/incidents")
        from programs import ask_redis
        own = threading.local()
        def app(environ, start_response):
            link = own.link = getattr(own, "link", None) or socket.create_connection(("127.0.0.1", 6379))
            while b"OK" not in ask_redis(link, "SET", "stock-lock", "shop", "NX", "PX", "5000"):
                time.sleep(random.uniform(0.02, 0.05))
            ask_redis(link, "DECR", "stock")
            ask_redis(link, "DEL", "stock-lock")
            start_response("200 OK", [])
            return [b"sold"]
        """,
        "--workers=1",
        "--threads=4",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=4, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

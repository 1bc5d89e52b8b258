"""Each page asks Redis 300 times, one question after the other, where one MGET would do.

Source: Redis' documentation, "Redis pipelining": round-trip time.
"""

import time

from programs import gunicorn, redis, web_clients

CAUSE = "gunicorn asks 127.0.0.1:6379 hundreds of times for each request"
NAMED = r"gunicorn.*(127\.0\.0\.1:6379|redis)"
BLAMED = r"^gunicorn .*(6379|redis)"
MOVED = r"6379|redis"


def play(scene):
    redis(scene)
    gunicorn(
        scene,
        f"""
        import socket
        links = []
        def app(environ, start_response):
            links[:] = links or [socket.create_connection(("127.0.0.1", 6379))]
            for number in range({300 if scene.is_bad else 3}):
                links[0].sendall(b"GET key%d\\r\\n" % number)
                links[0].recv(100)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=1",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=2, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

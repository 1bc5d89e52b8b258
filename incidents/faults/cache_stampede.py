"""An entry of a cache ends twice a second, and all threads that miss it ask PostgreSQL the same costly question at once: one of them would do.

Source: "Scaling Memcache at Facebook" (NSDI 2013), 3.2.1, leases against thundering herds; "Optimal Probabilistic Cache Stampede Prevention" (VLDB 2015).
"""

import time

from programs import gunicorn, kept_clients, postgres, redis

CAUSE = "the threads of gunicorn ask postgres (127.0.0.1:5432) the same costly question at once, when its answer is no longer in redis"
NAMED = r"postgres|gunicorn.*5432"
BLAMED = r"^(client|gunicorn) .*postgres"
MOVED = r"postgres|5432"
FELT = True


def play(scene):
    postgres(scene)
    redis(scene)
    gunicorn(
        scene,
        f"""
        import os, socket, sys, threading
        sys.path.append("/incidents")
        from programs import Session, ask_redis
        own, one = threading.local(), threading.Lock()
        def look(link):
            return b"-1" not in ask_redis(link, "GET", "top")
        def work_out(link):
            own.session.run("SELECT balance, count(DISTINCT note), sum(length(md5(note))) FROM account GROUP BY balance")
            ask_redis(link, "SET", "top", "yes", "PX", "500")
        def app(environ, start_response):
            if not hasattr(own, "link"):
                own.link, own.session = socket.create_connection(("127.0.0.1", 6379)), Session()
            if not look(own.link):
                if {scene.is_bad}:
                    work_out(own.link)
                elif one.acquire(blocking=False):
                    work_out(own.link)
                    one.release()
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=12",
    )
    kept_clients(scene, 8000, count=12, pause_s=0.15)
    with scene.recording():
        time.sleep(1)

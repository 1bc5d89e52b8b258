"""A page puts a task into a queue in Redis and waits there for its result; the one worker that takes tasks waits for a slow store with each.

Source: Redis' documentation, BLPOP (reliable queues); "Site Reliability Engineering", chapter 22: queues and the latency of what is behind them.
"""

import socket
import time

from programs import ask_redis, gunicorn, redis, web_clients

CAUSE = "gunicorn waits in Redis (BLPOP) for results of resizer, which waits for storage at 127.0.0.1:9000"
NAMED = r"(gunicorn|redis-server|resizer).*(resizer|storage|127\.0\.0\.1:9000)"
BLAMED = r"^(client|gunicorn|redis-server) .*(resizer|storage|127\.0\.0\.1:9000)"
MOVED = r"(gunicorn|redis-server|resizer).*(resizer|storage|127\.0\.0\.1:9000)"
FELT = True


def play(scene):
    redis(scene)
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(16)
    links, own = [], []

    def store():
        links[:] = links or [door.accept()[0]]
        links[0].recv(100)
        time.sleep(0.12 if scene.is_bad else 0.002)
        links[0].sendall(b"stored")

    def resize():
        own[:] = own or [socket.create_connection(("127.0.0.1", port)) for port in (6379, 9000)]
        queue, storage = own
        task = ask_redis(queue, "BLPOP", "tasks", "0").split(b"\r\n")[-2].decode()
        storage.sendall(b"picture")
        storage.recv(100)
        ask_redis(queue, "RPUSH", f"result:{task}", "done")

    scene.fork("storage", store)
    scene.fork("resizer", resize)
    gunicorn(
        scene,
        """
        import itertools, socket, sys, threading
        sys.path.append("/incidents")
        from programs import ask_redis
        own, numbers = threading.local(), itertools.count()
        def app(environ, start_response):
            if not hasattr(own, "link"):
                own.link = socket.create_connection(("127.0.0.1", 6379))
            task = str(next(numbers))
            ask_redis(own.link, "RPUSH", "tasks", task)
            ask_redis(own.link, "BLPOP", "result:" + task, "0")
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--threads=8",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=4, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

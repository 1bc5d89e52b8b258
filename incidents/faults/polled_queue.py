"""A page gives a task to a program that looks for tasks four times a second: the page waits for the end of that program's sleep, and nobody works meanwhile.

Source: Redis' manual, BLPOP: blocks until there is an element, in place of polling; "Enterprise Integration Patterns", Polling Consumer.
"""

import random
import socket
import time

from programs import ask_redis, gunicorn, redis, web_clients

CAUSE = "gunicorn waits by way of redis for mailer, which sleeps 250 ms between two looks into the queue"
NAMED = r"mailer.*(sleep|slept)|(sleep|slept).*mailer"
BLAMED = r"^(client|gunicorn|redis-server) .*sleep mailer"
MOVED = r"(client|gunicorn|redis-server).*(sleep|slept).*mailer"
FELT = True


def play(scene):
    redis(scene)
    links = []

    def work():
        links[:] = links or [socket.create_connection(("127.0.0.1", 6379))]
        time.sleep(random.uniform(0.9, 1.1) * (0.25 if scene.is_bad else 0.003))
        while b"task" in (task := ask_redis(links[0], "LPOP", "tasks")):
            ask_redis(links[0], "LPUSH", task.split()[1].decode().replace("task", "result"), "sent")

    scene.fork("mailer", work)
    gunicorn(
        scene,
        """
        import socket, sys, threading
        sys.path.append("/incidents")
        from programs import ask_redis
        own = threading.local()
        def app(environ, start_response):
            link = own.link = getattr(own, "link", None) or socket.create_connection(("127.0.0.1", 6379))
            number = threading.get_ident()
            ask_redis(link, "RPUSH", "tasks", f"task-{number}")
            ask_redis(link, "BLPOP", f"result-{number}", "10")
            start_response("200 OK", [])
            return [b"sent"]
        """,
        "--workers=1",
        "--threads=4",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=3, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

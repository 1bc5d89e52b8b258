"""A small shop: nginx, gunicorn with four threads, PostgreSQL and Redis, and ten customers; all on one host."""

import time
from pathlib import Path

from programs import gunicorn, kept_clients, nginx, postgres, redis


def play(scene):
    postgres(scene)
    redis(scene)
    Path("/scene/programs.py").write_text(Path("/incidents/programs.py").read_text())
    gunicorn(
        scene,
        """
        import random, socket, threading
        from programs import Session, ask_redis
        own = threading.local()
        def app(environ, start_response):
            if not hasattr(own, "session"):
                own.session, own.cache = Session(), socket.create_connection(("127.0.0.1", 6379))
            number = random.randint(1, 50000)
            if ask_redis(own.cache, "GET", f"item:{number % 1000}").startswith(b"$-1"):
                own.session.run(f"SELECT * FROM account WHERE owner = {number}")
                ask_redis(own.cache, "SET", f"item:{number % 1000}", "x" * 500, "EX", "10")
            if number % 10 == 0:
                own.session.run(f"UPDATE account SET balance = balance - 1 WHERE id = {number}")
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=4",
        "--workers=2",
    )
    nginx(scene, "location /static { root /scene; } location / { proxy_pass http://127.0.0.1:8000; }")
    kept_clients(scene, 8080, count=10, pause_s=0.1, name="customer")
    with scene.recording():
        time.sleep(1)

"""A pool of 12 sessions of which two are in use at a time; the others wait for the next request, as a pool does."""

import random
import time

from programs import Session, gunicorn, kept_clients, postgres


def play(scene):
    postgres(scene)
    pool = []

    def use():
        while len(pool) < 12:
            pool.append(Session())
        session = pool.pop(random.randrange(len(pool)))
        session.run(f"SELECT note FROM account WHERE owner = {random.randint(1, 50000)}")
        pool.append(session)
        time.sleep(random.uniform(0.005, 0.03))

    scene.fork("app", use)
    scene.fork("worker", use)
    gunicorn(scene, "def app(e, s):\n    s('200 OK', [('Content-Length', '1')])\n    return [b'x']\n", "--threads=4")
    kept_clients(scene, 8000, pause_s=0.1)
    with scene.recording():
        time.sleep(1)

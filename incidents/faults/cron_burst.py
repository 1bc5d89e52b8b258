"""Thirty agents report once a second to a service that could serve seventy. All do it when the second begins, so the last waits for 29 others, and then nobody comes for half a second.

Source: "Site Reliability Engineering" (Google), chapter 24, "Distributed Periodic Scheduling with Cron": "large-scale ... thundering herd"; AWS, "Timeouts, retries, and backoff with jitter".
"""

import threading
import time

from programs import get, gunicorn

CAUSE = "agents all ask gunicorn (127.0.0.1:8000) at the same moment of each second; it has nothing to do between"
NAMED = (
    r"(8000|gunicorn|agent).*(burst|same moment|same time|bunch|(all|asked|come|arrived?) at once|(each|every) second)"
)
BLAMED = r"^agent .*gunicorn"
MOVED = NAMED
FELT = True
COUNT = 30


def play(scene):
    gunicorn(
        scene,
        """
        import time
        def app(environ, start_response):
            time.sleep(0.014)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--workers=1",
    )
    turns, lock = {}, threading.Lock()

    def ask():
        with lock:
            turn = turns.setdefault(threading.get_ident(), len(turns))
        due = 0 if scene.is_bad else turn / COUNT
        time.sleep((due - time.time()) % 1)
        with scene.clock.asking():
            get("http://127.0.0.1:8000/")

    scene.fork("agent", ask, count=COUNT)
    with scene.recording():
        time.sleep(1)

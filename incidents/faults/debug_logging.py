"""The level of a log was left at DEBUG: each request writes 1,500 lines, each with a write of its own.

Source: Python's "Logging HOWTO", "Optimization"; Gregg, "Systems Performance", chapter 5: logging as a cost of its own.
"""

import time

from programs import gunicorn, web_clients

CAUSE = "gunicorn writes 1,500 lines to debug.log in each request"
NAMED = r"gunicorn.*(calls write|debug\.log)"
BLAMED = r"^(client|gunicorn) .*(write|debug\.log)"
MOVED = r"gunicorn.*(calls write|debug\.log)"
FELT = True


def play(scene):
    gunicorn(
        scene,
        f"""
        import logging
        log = logging.getLogger("shop")
        log.propagate = False
        log.addHandler(logging.FileHandler("/scene/debug.log"))
        log.setLevel(logging.{"DEBUG" if scene.is_bad else "INFO"})
        def app(environ, start_response):
            total = 0
            for item in range(1500):
                total += item * 7 % 13
                log.debug("item %d: total is %d", item, total)
            log.info("total is %d", total)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=2, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

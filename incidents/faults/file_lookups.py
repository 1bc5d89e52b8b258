"""Each request looks for 3,000 files that are not there: the time goes into system calls that fail.

Source: "Systems Performance", 2nd edition, 8.3.8: file system metadata operations.
"""

import time

from programs import gunicorn, web_clients

CAUSE = "gunicorn spends its requests in newfstatat"
NAMED = r"gunicorn.*(newfstatat|stat\b)"
BLAMED = r"^client .*gunicorn"
MOVED = r"stat|gunicorn"


def play(scene):
    gunicorn(
        scene,
        f"""
        import os
        def app(environ, start_response):
            for number in range({3000 if scene.is_bad else 3}):
                os.path.exists(f"/var/lib/templates/site/{{number}}.html")
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=1",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=2, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

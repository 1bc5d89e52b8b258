"""A page reads a whole table from the database, 50,000 rows, and looks for the one row itself.

Source: Winand, "SQL Performance Explained", chapter 7: partial results; PostgreSQL manual, "The WHERE Clause".
"""

import time

from programs import gunicorn, postgres, web_clients

CAUSE = "each request of gunicorn reads 7 MB from postgres (127.0.0.1:5432) to use one row"
NAMED = r"gunicorn.*([kM]i?B|bytes).*(5432|postgres)|(5432|postgres).*([kM]i?B|bytes)"
BLAMED = r"^(client|gunicorn) .*(recvfrom|5432|postgres)"
MOVED = r"gunicorn.*([kM]i?B|bytes).*(5432|postgres)|(5432|postgres).*([kM]i?B|bytes)"
FELT = True


def play(scene):
    postgres(scene)
    gunicorn(
        scene,
        f"""
        import sys, threading
        sys.path.append("/incidents")
        from programs import Session
        own = threading.local()
        def app(environ, start_response):
            session = own.session = getattr(own, "session", None) or Session()
            session.run("SELECT * FROM account" + ("" if {scene.is_bad} else " WHERE id = 4711"))
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=2, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

"""A new version's file of prices belongs to root and may be read by nobody else: the service cannot open it, and answers 500 each time.

Source: path_resolution(7), "Permissions"; open(2), EACCES.
"""

import contextlib
import time
from pathlib import Path

from programs import get, gunicorn

CAUSE = "gunicorn may not read /scene/prices.json (EACCES)"
NAMED = r"gunicorn.*(EACCES.*prices\.json|prices\.json.*EACCES)"
BLAMED = ""
MOVED = r"EACCES"


def play(scene):
    prices = Path("/scene/prices.json")
    prices.write_text('{"apple": 3}')
    prices.chmod(0o600 if scene.is_bad else 0o644)
    gunicorn(
        scene,
        """
        import json
        def app(environ, start_response):
            try:
                with open("/scene/prices.json") as file:
                    answer = json.dumps(json.load(file)).encode()
                start_response("200 OK", [])
            except OSError:
                start_response("500 Internal Server Error", [])
                answer = b""
            return [answer]
        """,
        "--workers=2",
        "--user=nobody",
        "--group=nogroup",
    )

    def ask():
        with contextlib.suppress(OSError):
            get("http://127.0.0.1:8000/")
        time.sleep(0.02)

    scene.fork("client", ask, count=3)
    with scene.recording():
        time.sleep(1)

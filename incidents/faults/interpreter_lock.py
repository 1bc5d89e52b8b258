"""A thread of a Python server computes a report: it has the interpreter's lock most of the time, and requests wait for it.

Source: Python's documentation, "Thread State and the Global Interpreter Lock"; sys.setswitchinterval (5 ms).
"""

import textwrap
import time
from pathlib import Path

from programs import web_clients

CAUSE = "the requests of server wait for its thread report, which computes"
NAMED = r"server.*report|report.*(ran|computes)"
BLAMED = r"^server .*futex .*report"
MOVED = r"report"


def play(scene):
    Path("/scene/server.py").write_text(
        textwrap.dedent(
            f"""
            import ctypes, http.server, threading
            name = lambda text: ctypes.CDLL(None).prctl(15, text, 0, 0, 0)
            name(b"server")
            class Answer(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200)
                    self.send_header("Content-Length", "5")
                    self.end_headers()
                    self.wfile.write(b"hello")
                def log_message(self, *words):
                    pass
            def report():
                name(b"report")
                while {scene.is_bad}:
                    sum(n * n for n in range(1000))
            threading.Thread(target=report, daemon=True).start()
            http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Answer).serve_forever()
            """
        )
    )
    scene.start("python3", "/scene/server.py")
    scene.wait_port(8000)
    web_clients(scene, "http://127.0.0.1:8000/", count=2)
    with scene.recording():
        time.sleep(1)

"""A handler waits for the end of a program before it reads what that says: the program has a lot to say, the pipe is full, and both wait for ever.

Source: Python's manual, subprocess, Popen.wait: "This will deadlock when using stdout=PIPE or stderr=PIPE and the child process generates
enough output to a pipe such that it blocks"; pipe(7), "Pipe capacity".
"""

import http.client
import itertools
import time
from pathlib import Path

from programs import gunicorn

CAUSE = "gunicorn waits for converter to end, and converter waits until gunicorn reads its pipe"
NAMED = r"gunicorn.*converter.*pipe|converter.*pipe.*gunicorn|gunicorn.*pipe.*converter|converter.*gunicorn.*pipe"
BLAMED = r"^(client|gunicorn|converter) .*(converter|pipe)"
MOVED = r"converter"
TRUE_ALSO = r"short_processes"  # each request starts a program in the healthy one too
FELT = True


def play(scene):
    (scene.folder / "converter").write_text("#!/bin/sh\nhead -c $1 /dev/zero >&2\n")
    Path(scene.folder / "converter").chmod(0o755)
    gunicorn(
        scene,
        f"""
        import subprocess
        def app(environ, start_response):
            says = 200000 if {scene.is_bad} and environ["PATH_INFO"] == "/large" else 2000
            with subprocess.Popen(["/scene/converter", str(says)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
                child.wait()
                child.stderr.read()
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=60",
    )
    numbers = itertools.count()

    def ask():
        link = http.client.HTTPConnection("127.0.0.1", 8000, timeout=1.5)
        try:
            with scene.clock.asking():
                link.request("GET", "/large" if next(numbers) % 4 == 0 else "/small")
                link.getresponse().read()
        finally:
            link.close()
            time.sleep(0.1)

    scene.fork("client", ask, count=4)
    with scene.recording():
        time.sleep(1)

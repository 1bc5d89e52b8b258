"""Each request starts a small program that closes every descriptor it could have, one by one, for a limit that was raised to 300,000.

Source: close_range(2), which is there for that; getrlimit(2), RLIMIT_NOFILE.
"""

import time
from pathlib import Path

from programs import gunicorn, web_clients

CAUSE = "convert, which gunicorn starts for each request, calls close for each of 300,000 numbers: nearly all in vain"
NAMED = r"convert.*\bclose\b|\bclose\b.*convert"
BLAMED = r"^(client|gunicorn|convert) .*convert"
MOVED = r"convert.*\bclose\b|\bclose\b.*convert|in convert\b"
FELT = True

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words)
{
    for (long number = atol(words[count - 1]) - 1; number > 2; number--)
        close((int)number);
    write(1, "done", 4);
    return 0;
}
"""


def play(scene):
    Path("/scene/convert.c").write_text(PROGRAM)
    scene.run("gcc", "-O2", "-o", "/scene/convert", "/scene/convert.c")
    gunicorn(
        scene,
        f"""
        import subprocess
        def app(environ, start_response):
            body = subprocess.run(["/scene/convert", "{300_000 if scene.is_bad else 1024}"], capture_output=True).stdout
            start_response("200 OK", [])
            return [body]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=1, pause_s=0.1)
    with scene.recording():
        time.sleep(1)

"""Nginx serves files of 20 kB to eight kept connections of ab, as fast as it can: one CPU each is what that takes."""

import time

from programs import nginx


def play(scene):
    (scene.folder / "page.html").write_bytes(b"x" * 20_000)
    nginx(scene, "root /scene; keepalive_requests 100000000; location / { }")
    scene.start("ab", "-q", "-k", "-c", "8", "-t", "600", "-n", "100000000", "http://127.0.0.1:8080/page.html")
    with scene.recording():
        time.sleep(1)

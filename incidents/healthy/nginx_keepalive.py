"""Nginx serves files of 20 kB over the one kept connection of ab, as fast as both can: one works while the other waits."""

import time

from programs import nginx


def play(scene):
    (scene.folder / "page.html").write_bytes(b"x" * 20_000)
    nginx(scene, "root /scene; keepalive_requests 100000000; location / { }")
    scene.start("ab", "-q", "-k", "-c", "1", "-t", "600", "-n", "100000000", "http://127.0.0.1:8080/page.html")
    with scene.recording():
        time.sleep(1)

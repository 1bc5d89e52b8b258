"""Nginx serves small files, each on a connection of its own: 300 a second of 4 clients, some for files that are not there."""

import time

from programs import get, nginx, web_clients


def play(scene):
    (scene.folder / "page.html").write_bytes(b"x" * 2000)
    nginx(scene, "root /scene; location / { }")
    web_clients(scene, "http://127.0.0.1:8080/page.html", count=4, pause_s=0.01)

    def ask():
        get("http://127.0.0.1:8080/missing.html")

    def later():
        time.sleep(0.2)
        ask()

    scene.fork("crawler", later)
    with scene.recording():
        time.sleep(1)

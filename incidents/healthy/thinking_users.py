"""Users who think for a second between their requests, over connections that they keep: the server waits for them."""

import time

from programs import gunicorn, kept_clients, nginx


def play(scene):
    gunicorn(scene, "def app(e, s):\n    s('200 OK', [('Content-Length', '1')])\n    return [b'x']\n", "--threads=8")
    nginx(scene, "keepalive_timeout 65; location / { proxy_pass http://127.0.0.1:8000; }")
    kept_clients(scene, 8080, count=20, pause_s=1, name="user")
    with scene.recording():
        time.sleep(1)

"""A batch job in a control group with a quota of one CPU needs half of it; a web server beside it has the rest."""

import time

from programs import gunicorn, kept_clients


def play(scene):
    group = scene.group("batch", cpus=1)
    scene.start("stress-ng", "--cpu", "1", "--cpu-load", "50", "--cpu-method", "matrixprod", "--quiet", group=group)
    gunicorn(scene, "def app(e, s):\n    s('200 OK', [('Content-Length', '1')])\n    return [b'x']\n", "--workers=2")
    kept_clients(scene, 8000, count=2, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

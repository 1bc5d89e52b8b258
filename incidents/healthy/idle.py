"""PostgreSQL, Redis and nginx that nobody asks."""

import time

from programs import nginx, postgres, redis


def play(scene):
    postgres(scene)
    redis(scene)
    nginx(scene, "location / { return 200 hello; }")
    with scene.recording():
        time.sleep(1)

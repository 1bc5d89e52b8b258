"""A worker asks its queue without a pause: it takes a whole CPU to find nothing.

Source: poll(2): a timeout of 0 returns at once.
"""

import select
import socket
import time

from programs import redis, redis_client

CAUSE = "worker polls with a timeout of 0"
NAMED = r"busy_polling.*worker"
BLAMED = ""
MOVED = r"worker|busy_polling"


def play(scene):
    redis(scene)
    redis_client(scene, "client", "PING", pause_s=0.01)
    queue = []

    def look():
        queue[:] = queue or [socket.create_connection(("127.0.0.1", 6379))]
        select.select(queue, [], [], 0 if scene.is_bad else 1)

    scene.fork("worker", look)
    with scene.recording():
        time.sleep(1)

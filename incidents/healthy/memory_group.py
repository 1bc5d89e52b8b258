"""Redis in a control group with a limit of 200 MB holds 60 MB of keys that expire and come again: that fits."""

import random
import socket
import time

from programs import ask_redis, redis


def play(scene):
    redis(scene, group=scene.group("cache", memory=200 << 20))
    filler = socket.create_connection(("127.0.0.1", 6379))
    ask_redis(filler, "DEBUG", "POPULATE", "100000", "key", "400")
    links = []

    def use():
        links[:] = links or [socket.create_connection(("127.0.0.1", 6379))]
        ask_redis(links[0], "SET", f"page:{random.randint(1, 20000)}", "x" * 1000, "EX", "2")
        ask_redis(links[0], "GET", f"page:{random.randint(1, 20000)}")
        time.sleep(random.uniform(0.001, 0.01))

    scene.fork("web", use)
    scene.fork("api", use)
    with scene.recording():
        time.sleep(1)

"""Workers wait for jobs in a list of Redis (BLPOP, 1 s at most, again and again); there is little to do."""

import random
import socket
import threading
import time

from programs import ask_redis, redis


def play(scene):
    redis(scene)
    links = {}

    def link():
        return links.get(threading.get_ident()) or links.setdefault(
            threading.get_ident(), socket.create_connection(("127.0.0.1", 6379))
        )

    def work():
        if ask_redis(link(), "BLPOP", "jobs", "1") != b"*-1\r\n":
            end = time.monotonic() + random.uniform(0.01, 0.05)
            while time.monotonic() < end:
                sum(range(1000))

    def produce():
        ask_redis(link(), "RPUSH", "jobs", "x" * 50)
        time.sleep(random.uniform(0.1, 0.8))

    scene.fork("worker", work, count=6)
    scene.fork("producer", produce)
    with scene.recording():
        time.sleep(1)

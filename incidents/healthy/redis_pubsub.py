"""Redis passes messages from two publishers on to eight subscribers, who wait for the next one."""

import random
import socket
import threading
import time

from programs import ask_redis, redis


def play(scene):
    redis(scene)
    links = {}

    def link():
        return links.get(threading.get_ident())

    def listen():
        if not link():
            links[threading.get_ident()] = socket.create_connection(("127.0.0.1", 6379))
            ask_redis(link(), "SUBSCRIBE", "news")
        link().recv(4096)

    def publish():
        if not link():
            links[threading.get_ident()] = socket.create_connection(("127.0.0.1", 6379))
        ask_redis(link(), "PUBLISH", "news", "x" * 200)
        time.sleep(random.uniform(0.02, 0.1))

    scene.fork("subscriber", listen, count=8)
    scene.fork("publisher", publish, count=2)
    with scene.recording():
        time.sleep(1)

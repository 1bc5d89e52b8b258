"""Redis with 50 MB appends each write to its log, flushed each second, and forks for a snapshot on the disk now and then."""

import socket
import time

from programs import ask_redis, redis, redis_client


def play(scene):
    redis(scene, "--dir", str(scene.disk()), "--appendonly", "yes", "--appendfsync", "everysec")
    link = socket.create_connection(("127.0.0.1", 6379))
    ask_redis(link, "DEBUG", "POPULATE", "100000", "key", "400")
    redis_client(scene, "client", "SET", "key:42", "x" * 400, count=4, pause_s=0.01)

    def save():
        time.sleep(4)
        link = socket.create_connection(("127.0.0.1", 6379))
        ask_redis(link, "BGSAVE")
        link.close()

    scene.fork("saver", save)
    with scene.recording():
        time.sleep(1)

"""One client runs KEYS over a million keys: Redis serves one command at a time, so all others wait.

Source: Redis manual, KEYS: "may ruin performance when it is executed against large databases"; redis.io, "Diagnosing latency issues".
"""

import socket
import time

from programs import ask_redis, redis, redis_client

CAUSE = "the event loop of redis-server computes for long, for one command; other clients wait"
NAMED = r"event_loop_(blocked|computes).*redis-server"
BLAMED = r"^client .*redis-server"
MOVED = r"redis-server"


def play(scene):
    redis(scene)
    link = socket.create_connection(("127.0.0.1", 6379))
    ask_redis(link, "DEBUG", "POPULATE", "1000000", "key", "20")
    redis_client(scene, "client", "GET", "key:42", count=4)
    if scene.is_bad:
        redis_client(scene, "reporter", "EVAL", "local k = redis.call('KEYS', '*:99999*') return #k", "0", pause_s=0.05)
    else:
        redis_client(scene, "reporter", "GET", "key:43", pause_s=0.05)
    with scene.recording():
        time.sleep(1)

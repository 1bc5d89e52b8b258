"""Redis writes each command to its append-only file and waits for the disk (appendfsync always); the disk is slow.

Source: Redis manual, "Redis persistence": appendfsync always is "very very slow, very safe"; "Diagnosing latency issues".
"""

import time

from programs import redis, redis_client

CAUSE = "redis-server waits in fdatasync of its append-only file for a slow disk"
NAMED = r"redis-server.*(fdatasync|fsync|disk|loop\d|appendonly)"
BLAMED = r"^(redis-server|client|reader) .*(fdatasync|disk)"
MOVED = r"redis-server.*(fdatasync|disk|loop\d|appendonly)"


def play(scene):
    device = scene.file_system("/mnt", "256M")
    redis(scene, "--dir", "/mnt", "--appendonly", "yes", "--appendfsync", "always" if scene.is_bad else "everysec")
    redis_client(scene, "client", "INCR", "counter", count=2, pause_s=0.01)
    redis_client(scene, "reader", "GET", "key:42", count=2, pause_s=0.01)
    if scene.is_bad:
        scene.throttle(device, 60)
    with scene.recording():
        time.sleep(1)

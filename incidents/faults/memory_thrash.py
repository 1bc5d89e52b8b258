"""A group's memory limit is below the files that its program reads all the time: each page is read from the disk again.

Source: Documentation/mm/workingset.rst: refaults; "Systems Performance", 2nd edition, 8.3.3.
"""

import os
import time

from programs import redis

CAUSE = "reader's page cache does not fit into the memory limit of its group"
NAMED = r"(memory_reclaim|page_cache_too_small).*(batch|reader)"
BLAMED = r"^reader .*disk"
MOVED = r"reader.*(vda|disk|loop)|refault|page_cache"


def play(scene):
    redis(scene)
    path = "/var/tmp/data"
    with open(path, "wb") as file:
        for _ in range(200):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # its pages shall belong to the reader's group
    group = scene.group("batch", memory=(60 if scene.is_bad else 400) << 20)

    def read():
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 16):
                pass
        time.sleep(0.01)

    scene.fork("reader", read, group=group)
    time.sleep(1)
    with scene.recording():
        time.sleep(1)

"""Threads that read a file past the page cache, `readers.py THREADS SECONDS`: more of them than the disk can serve at once."""

import mmap
import os
import random
import sys
import threading
import time
from pathlib import Path

SIZE = 1 << 20
PATH = "readers.file"
COUNT = 400
end = time.monotonic() + float(sys.argv[2])
if not Path(PATH).exists():
    with Path(PATH).open("wb") as file:
        for _ in range(COUNT):
            file.write(os.urandom(SIZE))


def read():
    fd = os.open(PATH, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, SIZE)
    while time.monotonic() < end:
        os.preadv(fd, [buffer], random.randrange(COUNT) * SIZE)


threads = [threading.Thread(target=read) for _ in range(int(sys.argv[1]))]
for t in threads:
    t.start()
for t in threads:
    t.join()

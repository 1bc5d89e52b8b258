"""A program that handles requests: `leak.py fd` forgets a file each, `leak.py thread` a thread, `leak.py none` nothing."""

import resource
import sys
import threading
import time

resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
kept, forever = [], threading.Event()
for _ in range(100):
    if sys.argv[1] == "thread":
        threading.Thread(target=forever.wait, daemon=True).start()
    else:
        thread = threading.Thread(target=time.sleep, args=(0.001,))
        thread.start()
        thread.join()
    file = open("/etc/hostname")  # noqa: PTH123, SIM115 (what leaks)
    if sys.argv[1] == "fd":
        kept.append(file)
    else:
        file.close()
    time.sleep(0.09)

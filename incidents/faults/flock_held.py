"""A backup holds SQLite's lock on a database file: the shop's writes wait or fail.

Source: sqlite.org, "File Locking And Concurrency"; flock(2).
"""

import fcntl
import time

CAUSE = "gunicorn waits for the lock of /scene/shop.lock, which backup holds"
NAMED = r"(gunicorn|shop).*(flock|lock of a file|shop\.lock|backup)"
BLAMED = r"^shop .*flock.*backup"
MOVED = r"shop waits .*(backup|flock|lock)"


def play(scene):
    lock = "/scene/shop.lock"

    def sell():
        with open(lock, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write("sold\n")
            file.flush()
        time.sleep(0.02)

    def backup():
        with open(lock, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            time.sleep(1.2 if scene.is_bad else 0.001)
        time.sleep(0.5)

    scene.fork("shop", sell)
    scene.fork("backup", backup)
    with scene.recording():
        time.sleep(1)

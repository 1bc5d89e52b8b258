"""A nightly report keeps a write transaction of an SQLite database open while it does other things: the shop's writes find it locked, and sleep.

Source: sqlite.org, "File Locking And Concurrency In SQLite Version 3" (RESERVED, PENDING, EXCLUSIVE) and sqlite3_busy_timeout().
"""

import sqlite3
import threading
import time

CAUSE = "shop sleeps in SQLite's busy handler: report holds the lock of shop.db"
NAMED = r"shop\.db.*report|report.*shop\.db"
BLAMED = r"^shop .*(shop\.db|report)"
MOVED = r"shop.*(report|shop\.db)|report.*shop\.db"


def play(scene):
    path = scene.disk() / "shop.db"
    with sqlite3.connect(path) as first:
        first.execute("CREATE TABLE sale (id INTEGER PRIMARY KEY, note TEXT)")
        first.execute("PRAGMA synchronous = OFF")
    links = {}

    def link():
        return links.setdefault(threading.get_ident(), sqlite3.connect(path, timeout=30, isolation_level=None))

    def sell():
        connection = link()
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("INSERT INTO sale (note) VALUES ('sold')")
        time.sleep(0.02)

    def report():
        connection = link()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO sale (note) VALUES ('counted')")
        time.sleep(1.5 if scene.is_bad else 0.001)
        connection.execute("COMMIT")
        time.sleep(0.5)

    for _ in range(3):
        scene.fork("shop", sell)
    scene.fork("report", report)
    with scene.recording():
        time.sleep(1)

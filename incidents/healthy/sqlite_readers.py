"""One process writes an SQLite database with a write-ahead log, and three read it: readers do not wait for the writer."""

import random
import sqlite3
import time


def play(scene):
    path = scene.disk() / "data.db"
    with sqlite3.connect(path) as first:
        first.execute("PRAGMA journal_mode = WAL")
        first.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, note TEXT)")
        first.executemany("INSERT INTO item (note) VALUES (?)", [("x" * 100,)] * 5000)
    links = []

    def link():
        if not links:
            links.append(sqlite3.connect(path, timeout=30, isolation_level=None))
        return links[0]

    def write():
        link().execute("BEGIN IMMEDIATE")
        for _ in range(3):
            link().execute("UPDATE item SET note = ? WHERE id = ?", ("y" * 100, random.randint(1, 5000)))
        link().execute("COMMIT")
        time.sleep(random.uniform(0.02, 0.1))

    def read():
        first = random.randint(1, 4000)
        link().execute("SELECT max(note) FROM item WHERE id BETWEEN ? AND ?", (first, first + 300)).fetchall()
        time.sleep(random.uniform(0.01, 0.05))

    scene.fork("writer", write)
    for _ in range(3):
        scene.fork("reader", read)
    with scene.recording():
        time.sleep(1)

"""A program keeps its data in SQLite on the disk: a short transaction after the other, each flushed, with pauses."""

import random
import sqlite3
import time


def play(scene):
    path = scene.disk() / "data.db"
    connections = []

    def work():
        if not connections:
            connections.append(sqlite3.connect(path, isolation_level=None))
            connections[0].execute("PRAGMA journal_mode = WAL")
            connections[0].execute("CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, note TEXT)")
        connection = connections[0]
        connection.execute("BEGIN")
        for _ in range(5):
            connection.execute("INSERT INTO item (note) VALUES (?)", ("x" * random.randint(10, 300),))
        connection.execute("COMMIT")
        connection.execute(
            "SELECT count(*), max(note) FROM item WHERE id > (SELECT max(id) - 1000 FROM item)"
        ).fetchall()
        time.sleep(random.uniform(0.01, 0.05))

    scene.fork("ledger", work)
    with scene.recording():
        time.sleep(1)

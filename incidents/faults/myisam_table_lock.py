"""A table of MariaDB is of the engine MyISAM: while a report reads it, an update waits for the whole table, and all that comes later waits behind that.

Source: MySQL's manual, "Table Locking Issues" and "Internal Locking Methods": MyISAM locks tables, and a write waits before later reads.
"""

import threading
import time

from programs import MariaSession, mariadb

CAUSE = "sessions of mariadbd wait for the lock of a table that another session has, which runs the query of report"
NAMED = r"(mariadbd|one_connection).*(lock|futex).*(which ran|report)"
BLAMED = r"^(shop|mariadbd|one_connection) .*futex.* running .*(mariadbd|one_connection)"
MOVED = r"(shop|mariadbd|one_connection).*(lock|futex|report).*(mariadbd|one_connection|report)"
FELT = True


def play(scene):
    mariadb(scene)
    first = MariaSession()
    engine = "MyISAM" if scene.is_bad else "InnoDB"
    first.run(f"CREATE TABLE item (id INT PRIMARY KEY, price INT, name VARCHAR(50)) ENGINE={engine}")
    for start in range(0, 100_000, 5_000):
        first.run(
            "INSERT INTO item VALUES " + ",".join(f"({n}, {n % 97}, 'thing {n}')" for n in range(start, start + 5_000))
        )
    sessions = {}

    def session():
        return sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), MariaSession())

    def buy():
        with scene.clock.asking():
            session().run(f"UPDATE item SET price = price + 1 WHERE id = {threading.get_ident() % 1000}")
            session().run("SELECT name FROM item WHERE id = 42")
        time.sleep(0.03)

    def report():
        session().run("SELECT max(sha2(repeat(concat(name, price), 20), 512)) FROM item")
        time.sleep(0.1)

    scene.fork("shop", buy, count=4)
    scene.fork("report", report)
    with scene.recording():
        time.sleep(1)

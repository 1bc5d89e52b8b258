"""A transaction that has read a table is left open; ALTER TABLE waits for its end, and every later query of the table waits behind that.

Source: MariaDB's and MySQL's manuals, "Metadata Locking".
"""

import threading
import time

from programs import MariaSession, mariadb

CAUSE = "threads of mariadbd wait for the metadata lock of a transaction that waits for its own client, analyst"
NAMED = r"(mariadbd|one_connection).*(analyst|which had nothing to do|that had nothing to do|idle in transaction)"
BLAMED = r"^(client|mariadbd|one_connection) .*(no_work|analyst)"
MOVED = r"(client|mariadbd|one_connection) waits .* more for .*(analyst|nothing to do|mariadbd|one_connection)"
FELT = True


def play(scene):
    mariadb(scene)
    first = MariaSession()
    first.run("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(50)) ENGINE=InnoDB")
    first.run("INSERT INTO item VALUES " + ",".join(f"({number}, 'thing')" for number in range(1000)))
    sessions = {}

    def session():
        return sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), MariaSession())

    def look():
        with scene.clock.asking():
            session().run("SELECT name FROM item WHERE id = 42")
        time.sleep(0.02)

    def analyse():
        session().run("BEGIN")
        session().run("SELECT count(*) FROM item")
        if scene.is_bad:
            time.sleep(0.8)  # the analyst looks at the figures
        session().run("COMMIT")
        time.sleep(0.2)

    def migrate():
        session().run("ALTER TABLE item COMMENT = 'things'")
        time.sleep(0.5)

    scene.fork("client", look, count=4)
    scene.fork("analyst", analyse)
    scene.fork("migration", migrate)
    with scene.recording():
        time.sleep(1)

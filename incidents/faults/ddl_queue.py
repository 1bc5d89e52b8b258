"""A client leaves a transaction open that has read a table: ALTER TABLE waits for it, and every later SELECT waits behind ALTER TABLE.

Source: PostgreSQL manual, "Explicit Locking": ALTER TABLE needs ACCESS EXCLUSIVE, which conflicts with all modes, and requests queue up.
"""

import threading
import time
from pathlib import Path

from programs import Session, postgres

CAUSE = "a backend of PostgreSQL keeps its lock of the table while it waits for its own client (idle in transaction)"
NAMED = r"postgres.*(thread|backend|process|processes,) postgres.* (which|that) had nothing to do|postgres.*idle in transaction|postgres.*analyst"
BLAMED = r"^postgres request .*no_work|^postgres .*no_work|^shop .*analyst"
MOVED = r"(postgres|shop) waits .* more for .*(nothing to do|analyst)"


def play(scene):
    postgres(scene)
    sessions = {}
    go, asked = Path("/scene/go"), Path("/scene/asked")

    def shop():
        session = sessions.get(threading.get_ident()) or sessions.setdefault(threading.get_ident(), Session())
        session.run(f"SELECT balance FROM account WHERE id = {threading.get_ident() % 50000}")
        time.sleep(0.01)

    def analyse():
        if not go.exists():
            time.sleep(0.05)
            return
        session = Session()
        session.run("BEGIN")
        session.run("SELECT count(*) FROM account")
        asked.touch()
        if scene.is_bad:
            time.sleep(5)  # the analyst looks at the answer
        session.run("COMMIT")
        time.sleep(60)

    def migrate():
        if not asked.exists():
            time.sleep(0.05)
            return
        Session().run("ALTER TABLE account ADD COLUMN flag int")
        time.sleep(60)

    scene.fork("shop", shop, count=4)
    scene.fork("analyst", analyse)
    scene.fork("migration", migrate)
    with scene.recording():
        time.sleep(0.5)
        go.touch()

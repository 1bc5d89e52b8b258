"""A program asks a slow service for its consent while its transaction holds a row: sessions that want the row wait for that service.

Source: PostgreSQL manual, "Explicit Locking": locks are held until the end of the transaction; "do not hold transactions open during external calls".
"""

import socket
import threading
import time

from programs import Session, postgres

CAUSE = "billing asks payment (127.0.0.1:9000), which takes 300 ms, while its session of postgres holds the row that shop's sessions wait for"
NAMED = r"postgres.*(billing|payment|9000)"
BLAMED = r"^(shop|postgres) .*(billing|payment|9000)"
MOVED = r"(shop|postgres).*(billing|payment|9000)"
FELT = True


def play(scene):
    postgres(scene, "synchronous_commit=off")
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(16)
    links, sessions = [], {}

    def consent():
        links[:] = links or [door.accept()[0]]
        links[0].recv(100)
        time.sleep(0.3 if scene.is_bad else 0.002)
        links[0].sendall(b"yes")

    scene.fork("payment", consent)
    paying = []

    def bill():
        paying[:] = paying or [Session(), socket.create_connection(("127.0.0.1", 9000))]
        session, payment = paying
        session.run("BEGIN")
        session.run("UPDATE account SET balance = balance + 1 WHERE id = 1")
        payment.sendall(b"may I?")
        payment.recv(100)
        session.run("COMMIT")
        time.sleep(0.05)

    def buy():
        me = threading.get_ident()
        session = sessions.get(me) or sessions.setdefault(me, Session())
        with scene.clock.asking():
            session.run("UPDATE account SET balance = balance - 1 WHERE id = 1")
        time.sleep(0.03)

    scene.fork("billing", bill)
    scene.fork("shop", buy, count=4)
    with scene.recording():
        time.sleep(1)

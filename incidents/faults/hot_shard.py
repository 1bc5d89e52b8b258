"""A router spreads the keys of its clients over three shards, but nearly all keys begin alike and go to one of them: questions queue up there, two shards idle.

Source: "The Tail at Scale" (Dean, Barroso, 2013); Redis' manual, cluster specification: hash tags put keys into one slot.
"""

import random
import socket
import threading
import time

from programs import linked_clients

CAUSE = "nearly all questions of router go to shard-1 (127.0.0.1:9001), where they queue; shard-0 and shard-2 have nothing to do"
NAMED = r"shard-1|127\.0\.0\.1:9001"
BLAMED = r"^(client|router) .*(shard-1|127\.0\.0\.1:9001)"
MOVED = r"(router|client).*(shard-1|127\.0\.0\.1:9001)|shard-1"
FELT = True
TRUE_ALSO = r"answers_wait .*shard-\d .*a sleep of the thread shard"  # each takes 12 ms


def play(scene):
    for number in range(3):
        door = socket.socket()
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(("127.0.0.1", 9000 + number))
        door.listen(64)

        def store(door=door):
            with door.accept()[0] as link:
                link.recv(100)
                time.sleep(0.012)
                link.sendall(b"value")

        scene.fork(f"shard-{number}", store)
    front = socket.socket()
    front.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    front.bind(("127.0.0.1", 7000))
    front.listen(64)

    def route():
        with front.accept()[0] as link:
            while link.recv(100):
                number = 1 if scene.is_bad and random.random() < 0.95 else random.randrange(3)
                with socket.create_connection(("127.0.0.1", 9000 + number)) as shard:
                    shard.sendall(b"key")
                    answer = shard.recv(100)
                link.sendall(answer)

    scene.fork("router", route, count=8)

    def ask(link: socket.socket) -> None:
        link.sendall(b"%d" % threading.get_ident())
        link.recv(100)

    linked_clients(scene, 7000, ask, name="client", pause_s=0.02, count=6)
    with scene.recording():
        time.sleep(1)

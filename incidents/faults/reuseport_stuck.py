"""Three processes listen on one port, each with a queue of its own; one waits for a slow ledger: a third of the clients wait in its queue
while the other two have nothing to do.

Source: LWN.net, "The SO_REUSEPORT socket option" (2013): connections in the queue of a process that is stuck wait for it.
"""

import os
import socket
import time

CAUSE = (
    "one of three processes of server waits for ledger (127.0.0.1:9100): the connections in its own queue wait for it"
)
NAMED = r"server.*(ledger|9100)"
BLAMED = r"^(client|server) .*ledger"
MOVED = r"(client|server).*(ledger|9100)"
FELT = True


def door(port):
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(128)
    return listening


def play(scene):
    counter = door(9100)

    def count():
        link, _ = counter.accept()
        with link:
            link.recv(100)
            time.sleep(0.8 if scene.is_bad else 0.002)
            link.sendall(b"counted")

    scene.fork("ledger", count)
    for number in range(3):
        own = {}

        def serve(number=number, own=own):
            listening = own.get(0) or own.setdefault(0, door(9000))
            link, _ = listening.accept()
            with link:
                link.recv(100)
                if number == 2:
                    with socket.create_connection(("127.0.0.1", 9100)) as ledger:
                        ledger.sendall(os.urandom(8))
                        ledger.recv(100)
                link.sendall(b"ok")

        scene.fork("server", serve)
    scene.wait_port(9000)

    def ask():
        with scene.clock.asking(), socket.create_connection(("127.0.0.1", 9000)) as link:
            link.sendall(b"hello")
            link.recv(100)
        time.sleep(0.05)

    scene.fork("client", ask, count=6)
    with scene.recording():
        time.sleep(1)

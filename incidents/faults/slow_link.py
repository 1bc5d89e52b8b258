"""The network to a peer passes 1 Mbit/s in place of what it had: answers come late, nobody computes.

Source: tc-tbf(8).
"""

import socket
import time

CAUSE = "client waits for the network to 127.0.0.1:9000: packets queue up in front of a slow link"
NAMED = r"client.*(127\.0\.0\.1:9000|network)"
BLAMED = r"^client call .*network|^client .*127\.0\.0\.1:9000"
MOVED = r"client waits .* more for .*127\.0\.0\.1:9000"


def play(scene):
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(128)
    link = []

    def serve():
        peer, _ = door.accept()
        while peer.recv(100):
            peer.sendall(b"x" * 20000)

    def ask():
        link[:] = link or [socket.create_connection(("127.0.0.1", 9000))]
        link[0].sendall(b"page")
        count = 0
        while count < 20000:
            count += len(link[0].recv(20000))
        time.sleep(0.01)

    scene.fork("server", serve)
    scene.fork("client", ask)
    if scene.is_bad:
        scene.run(
            "tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "2mbit", "burst", "20kb", "latency", "400ms"
        )
    with scene.recording():
        time.sleep(1)

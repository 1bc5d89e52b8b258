"""A tunnel on the way drops packets above 1300 bytes and says nothing: short answers arrive, long ones never do.

Source: RFC 2923, 2.1, "Black Hole Detection"; RFC 4821, section 1.
"""

import time

from programs import ask_redis, gunicorn, web_clients, wire

CAUSE = "packets above 1300 bytes (full segments) from 10.8.0.2:6379 never arrive: a path MTU black hole"
NAMED = r"10\.8\.0\..*(MTU|large packets|large segments|full segments|full-sized)|(MTU|large packets|large segments|full segments|full-sized).*10\.8\.0\."
BLAMED = r"^(client|gunicorn) .*10\.8\.0\.2:6379"
MOVED = r"10\.8\.0\.2"
TRUE_ALSO = r"connections_not_kept"  # it connects for each request in the healthy one too
FELT = True


def play(scene):
    wire(
        scene,
        lambda: scene.start("redis-server", "--port", "6379", "--save", "", "--protected-mode", "no"),
        delay_s=0.001,
        is_lost=lambda packet: scene.is_bad and len(packet) > 1300,
    )

    def fill():
        with __import__("socket").create_connection(("10.8.0.2", 6379), 1) as link:
            for number in range(10):
                for _ in range(10):
                    ask_redis(link, "APPEND", f"page:{number}", "x" * 900)
                ask_redis(link, "SET", f"title:{number}", f"page {number}")

    scene.wait(fill, "the store")
    gunicorn(
        scene,
        """
        import random, socket
        def ask(link, word):
            link.sendall(f"GET {word}\\r\\n".encode())
            head = link.recv(65536)
            count = int(head[1:head.index(b"\\r\\n")]) + head.index(b"\\r\\n") + 4 - len(head)
            while count > 0:
                count -= len(link.recv(65536)) or count
        def app(environ, start_response):
            number = random.randrange(10)
            status = "200 OK"
            with socket.create_connection(("10.8.0.2", 6379), 2) as link:
                try:
                    ask(link, f"title:{number}")
                    if number < 3:
                        ask(link, f"page:{number}")
                except OSError:
                    status = "504 Gateway Timeout"
            start_response(status, [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=8",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=4, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

"""A backup sends as fast as it can over the link that a service asks its cache by: the service's questions wait in the queue in front of the link.

Source: Gettys and Nichols, "Bufferbloat: Dark Buffers in the Internet" (ACM Queue, 2011): one full-speed transfer delays all others of the link.
"""

import socket
import time

from programs import gunicorn, web_clients, wire

CAUSE = "backup, which sends to 10.8.0.2:9000 without a limit, fills the link over which gunicorn asks 10.8.0.2:6379"
NAMED = r"backup.*10\.8\.0\.2|10\.8\.0\.2.*backup|gunicorn.*backup"
BLAMED = r"^(client|gunicorn) .*backup"
MOVED = r"backup"
TRUE_ALSO = r"waited for data from 10\.8\.0\.2:6379"  # each question takes the time of the wire in the healthy one too
FELT = True


def play(scene):
    def start_far():
        scene.start("redis-server", "--port", "6379", "--save", "", "--protected-mode", "no")
        door = socket.socket()
        door.bind(("0.0.0.0", 9000))
        door.listen(8)

        def store():
            link, _ = door.accept()
            while link.recv(1 << 16):
                pass

        scene.fork("store", store)

    wire(scene, start_far, delay_s=0.001, bytes_per_s=2.5e6, queue_bytes=200_000)
    scene.wait(lambda: socket.create_connection(("10.8.0.2", 6379), 1).close(), "the cache")
    gunicorn(
        scene,
        """
        import socket, threading
        own = threading.local()
        def app(environ, start_response):
            if not hasattr(own, "link"):
                own.link = socket.create_connection(("10.8.0.2", 6379))
            for word in (b"user", b"cart"):
                own.link.sendall(b"GET %s\\r\\n" % word)
                own.link.recv(100)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=4",
    )
    links = []

    def send():
        if not links:
            links.append(socket.create_connection(("10.8.0.2", 9000)))
        links[0].sendall(b"x" * 60000)
        if not scene.is_bad:
            time.sleep(0.2)

    scene.fork("backup", send)
    web_clients(scene, "http://127.0.0.1:8000/", count=4)
    with scene.recording():
        time.sleep(1)

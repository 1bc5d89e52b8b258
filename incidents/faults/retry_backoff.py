"""A payment service answers 503 to three tries of four: the shop sleeps between its tries, each time twice as long.

Source: "Site Reliability Engineering" (Google), chapter 22, "Addressing Cascading Failures": retries; AWS, "Timeouts, retries, and backoff with jitter".
"""

import socket
import time

from programs import gunicorn, kept_clients

CAUSE = "gunicorn sleeps between its tries to ask 127.0.0.1:9000 (payment), which fails at once"
NAMED = r"gunicorn.*(sleep|nanosleep).*(9000|payment)|gunicorn.*(9000|payment).*(sleep|nanosleep)"
BLAMED = r"^(client|gunicorn) .*sleep.*gunicorn|^(client|gunicorn) .*gunicorn.*sleep"
MOVED = r"gunicorn.*(sleep|9000)"
FELT = True


def play(scene):
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(128)
    asked = [0]

    def serve():
        link, _ = door.accept()
        link.recv(1000)
        asked[0] += 1
        fails = scene.is_bad and asked[0] % 4
        link.sendall(b"HTTP/1.0 503 No\r\n\r\n" if fails else b"HTTP/1.0 200 OK\r\n\r\n")
        link.close()

    scene.fork("payment", serve)
    gunicorn(
        scene,
        """
        import socket, time
        def pay():
            with socket.create_connection(("127.0.0.1", 9000)) as link:
                link.sendall(b"POST /pay HTTP/1.0\\r\\n\\r\\n")
                return b" 200 " in link.recv(1000)
        def app(environ, start_response):
            for number in range(6):
                if pay():
                    break
                time.sleep(0.05 * 2 ** number)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=8",
    )
    kept_clients(scene, 8000, count=4)
    with scene.recording():
        time.sleep(1)

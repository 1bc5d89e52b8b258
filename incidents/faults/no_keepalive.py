"""A service opens a new TCP connection for each question to a cache 20 ms away: the handshake takes as long as the question.

Source: RFC 9293, 3.5 (the handshake is a round trip); "High Performance Browser Networking", "Three-Way Handshake"; tun(4) is the wire.
"""

import time

from programs import gunicorn, web_clients, wire

CAUSE = "gunicorn connects to the cache 10.8.0.2:6379 again for each question, 20 ms each"
NAMED = r"gunicorn.*(\bconnect\b|connects|new connection|handshake).*10\.8\.0\.2:6379|gunicorn.*10\.8\.0\.2:6379.*(\bconnect\b|connects|new connection|handshake)"
BLAMED = r"^gunicorn .*(connect|handshake).*(6379|redis)|^gunicorn .*(6379|redis).*(connect|handshake)"
MOVED = r"(connect|handshake).*10\.8\.0\.2:6379|10\.8\.0\.2:6379.*(connect|handshake)"
TRUE_ALSO = r"10\.8\.0\.2:6379|wire"  # each question takes its 20 ms in the healthy one too


def play(scene):
    wire(
        scene,
        lambda: scene.start("redis-server", "--port", "6379", "--save", "", "--protected-mode", "no"),
        delay_s=0.01,
    )
    gunicorn(
        scene,
        f"""
        import socket
        links = []
        def ask(word):
            link = links.pop() if links else socket.create_connection(("10.8.0.2", 6379))
            link.sendall(b"GET %s\\r\\n" % word)
            link.recv(100)
            if {scene.is_bad}:
                link.close()
            else:
                links.append(link)
        def app(environ, start_response):
            for word in (b"user", b"cart", b"price"):
                ask(word)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=2",
    )
    scene.wait(lambda: __import__("socket").create_connection(("10.8.0.2", 6379), 1).close(), "the cache")
    web_clients(scene, "http://127.0.0.1:8000/", count=2)
    with scene.recording():
        time.sleep(1)

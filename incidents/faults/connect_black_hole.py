"""Packets to another service vanish on the way: each request tries to connect for one second, and goes on without an answer.

Source: RFC 9293, 3.5 and RFC 6298: a SYN without an answer is sent again after 1 s; Nygard, "Release It!", 2nd edition, 4.1: integration points.
"""

import socket
import time

from programs import gunicorn, web_clients

CAUSE = "connections of gunicorn to 10.9.9.9:443 get no answer"
NAMED = r"10\.9\.9\.9:443"
BLAMED = r"^(gunicorn|client) .*10\.9\.9\.9"
MOVED = r"10\.9\.9\.9"


def play(scene):
    if scene.is_bad:
        # Nobody has this address, and a wire takes what is sent to it.
        for words in (
            "link add out type veth peer name wire",
            "addr add 10.9.9.1/24 dev out",
            "link set out up",
            "link set wire up",
            "neigh add 10.9.9.9 lladdr 02:00:00:00:00:09 dev out",
        ):
            scene.run("ip", *words.split())
    else:
        scene.run("ip", "addr", "add", "10.9.9.9/32", "dev", "lo")
        door = socket.create_server(("10.9.9.9", 443))
        scene.fork("wall", lambda: door.accept()[0].close())
    gunicorn(
        scene,
        """
        import socket
        def app(environ, start_response):
            try:
                socket.create_connection(("10.9.9.9", 443), 1).close()
            except OSError:
                pass
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=4",
    )
    web_clients(scene, "http://127.0.0.1:8000/", pause_s=0.05)
    with scene.recording():
        time.sleep(1)

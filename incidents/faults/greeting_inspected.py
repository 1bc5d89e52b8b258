"""HAProxy waits for the first bytes of each connection to see whether they are TLS. But in this protocol the server speaks first: the client says nothing until it is greeted.

Source: HAProxy's configuration manual, "tcp-request inspect-delay", and its note on protocols in which the server speaks first.
"""

import time
from pathlib import Path

from programs import gunicorn, mariadb, web_clients

CAUSE = (
    "haproxy at 127.0.0.1:3307 waits 300 ms for the first bytes of gunicorn, which waits for the greeting of mariadbd"
)
NAMED = (
    r"haproxy.*(each other|first (bytes?|words?)|until gunicorn|waits? for gunicorn|inspect|"
    r"time limit|timer of its own|ran out)"
)
BLAMED = r"^(client|gunicorn) .*haproxy(?!.*mariadb)"
MOVED = r"haproxy"
FELT = True


def play(scene):
    mariadb(scene)
    look = "tcp-request inspect-delay 300ms\n tcp-request content accept if { req.ssl_hello_type 1 }\n"
    Path("/scene/haproxy.cfg").write_text(
        "defaults\n mode tcp\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n"
        f"listen maria\n bind 127.0.0.1:3307\n {look if scene.is_bad else ''} server s 127.0.0.1:3306\n"
    )
    scene.start("haproxy", "-db", "-f", "/scene/haproxy.cfg")
    scene.wait_port(3307)
    gunicorn(
        scene,
        """
        import socket, sys
        sys.path.insert(0, "/incidents")
        import programs
        connect = socket.create_connection
        programs.socket.create_connection = lambda address: connect((address[0], 3307))
        def app(environ, start_response):
            session = programs.MariaSession()
            session.run("SELECT 7")
            session.file.close()
            session.socket.close()
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=4",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=4, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

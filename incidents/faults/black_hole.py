"""A service hangs, and what comes to it waits in vain: its kernel drops new connections, and each connect takes until the program gives up.

Source: connect(2), listen(2): a full queue drops connection requests; tcp_syn_retries in ip-sysctl.rst.
"""

import contextlib
import socket
import time

from programs import gunicorn, web_clients

CAUSE = "connections of gunicorn to 10.9.9.9:443 get no answer"
NAMED = r"10\.9\.9\.9:443"
BLAMED = r"^(gunicorn|client) .*(10\.9\.9\.9|connect|poll)"
MOVED = r"10\.9\.9\.9|timeout|connect"


def play(scene):
    scene.run("ip", "addr", "add", "10.9.9.9/32", "dev", "lo")
    door = socket.socket()
    door.bind(("10.9.9.9", 443))
    door.listen(0 if scene.is_bad else 128)
    if scene.is_bad:
        for _ in range(3):
            first = socket.socket()
            first.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                first.connect(("10.9.9.9", 443))
    else:
        scene.fork("wall", lambda: door.accept()[0].close())
    gunicorn(
        scene,
        """
        import socket
        def app(environ, start_response):
            try:
                socket.create_connection(("10.9.9.9", 443), 2).close()
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

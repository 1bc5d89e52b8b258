"""Each request looks up a user by number. The host asks its nscd, whose directory server (LDAP) takes 150 ms for each.

Source: nscd(8); the GNU C library's manual, "Name Service Switch".
"""

import contextlib
import socket
import struct
import time
from pathlib import Path

from programs import gunicorn, web_clients

CAUSE = "gunicorn waits for answers of nscd at /var/run/nscd/socket"
NAMED = r"gunicorn.*nscd"
BLAMED = r"^(client|gunicorn) .*nscd"
MOVED = r"gunicorn.*nscd"
FELT = True


def play(scene):
    folder = Path("/run/nscd")
    folder.mkdir()
    door = socket.socket(socket.AF_UNIX)
    door.bind("/run/nscd/socket")
    door.listen(64)
    (folder / "socket").chmod(0o666)

    def serve():
        with door.accept()[0] as link:
            _, kind, _ = struct.unpack("iii", link.recv(12))
            link.recv(100)
            if kind in (0, 1):  # GETPWBYNAME, GETPWBYUID; all else is not kept here
                time.sleep(0.15 if scene.is_bad else 0.001)
                words = [b"shop\0", b"x\0", b"\0", b"/\0", b"/bin/sh\0"]
                head = struct.pack("9i", 2, 1, len(words[0]), len(words[1]), 4711, 4711, *map(len, words[2:]))
                with contextlib.suppress(OSError):
                    link.sendall(head + b"".join(words))

    scene.fork("nscd", serve, count=8)
    gunicorn(
        scene,
        """
        import pwd
        def app(environ, start_response):
            body = pwd.getpwuid(4711).pw_name.encode()
            start_response("200 OK", [])
            return [body]
        """,
        "--threads=4",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=4, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

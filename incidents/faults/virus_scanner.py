"""A virus scanner has to allow each opening of a file (fanotify), and asks its slow reputation service first: a service that opens a file waits for it.

Source: fanotify(7): FAN_OPEN_PERM, the open waits until a process has written its response; ClamAV's manual, "On-Access Scanning" (OnAccessPrevention).
"""

import ctypes
import os
import socket
import struct
import time
from pathlib import Path

from programs import gunicorn, web_clients

CAUSE = (
    "gunicorn waits in openat for clamonacc, which allows it after it has asked its reputation service (127.0.0.1:9000)"
)
NAMED = r"gunicorn.*(clamonacc|reputation|9000|fanotify)"
BLAMED = r"^(client|gunicorn) .*(clamonacc|reputation|9000|fanotify)"
MOVED = r"gunicorn.*(clamonacc|reputation|9000|fanotify)"
FELT = True

FAN_CLASS_CONTENT, FAN_MARK_ADD, FAN_OPEN_PERM, FAN_EVENT_ON_CHILD, AT_FDCWD = 4, 1, 0x10000, 0x08000000, -100


def play(scene):
    Path("/scene/prices").mkdir()
    Path("/scene/prices/list.json").write_text('{"price": 7}')
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 9000))
    door.listen(16)
    links = []

    def judge():
        links[:] = links or [door.accept()[0]]
        links[0].recv(100)
        time.sleep(0.08 if scene.is_bad else 0.001)
        links[0].sendall(b"clean")

    scene.fork("reputation", judge)
    libc = ctypes.CDLL(None, use_errno=True)
    events = []

    def scan():
        if not events:
            events[:] = [
                libc.fanotify_init(FAN_CLASS_CONTENT, os.O_RDONLY),
                socket.create_connection(("127.0.0.1", 9000)),
            ]
            mask = ctypes.c_uint64(FAN_OPEN_PERM | FAN_EVENT_ON_CHILD)
            if libc.fanotify_mark(events[0], FAN_MARK_ADD, mask, AT_FDCWD, b"/scene/prices"):
                os._exit(1)
            Path("/scene/scanner-ready").touch()
        said = os.read(events[0], 24)
        file = struct.unpack_from("<i", said, 16)[0]
        events[1].sendall(os.read(file, 32))
        events[1].recv(100)
        os.write(events[0], struct.pack("<iI", file, 1))  # FAN_ALLOW
        os.close(file)

    scene.fork("clamonacc", scan)
    scene.wait(lambda: Path("/scene/scanner-ready").stat(), "the scanner")
    gunicorn(
        scene,
        """
        def app(environ, start_response):
            with open("/scene/prices/list.json", "rb") as file:
                body = file.read()
            start_response("200 OK", [])
            return [body]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=3, pause_s=0.05)
    with scene.recording():
        time.sleep(1)

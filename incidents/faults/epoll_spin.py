"""An event loop waits for a socket that can always be written: epoll_wait returns at once, with nothing to do, for ever.

Source: epoll(7), "Level-triggered and edge-triggered"; libev manual, "special problem of accept()ing when you can't".
"""

import time
from pathlib import Path

CAUSE = "relay spins in epoll_wait: a descriptor is always ready and nothing is done with it"
NAMED = r"busy_polling.*relay"
BLAMED = ""
MOVED = r"relay|busy_polling"

CODE = """
import ctypes, select, socket, sys
ctypes.CDLL(None).prctl(15, b"relay", 0, 0, 0)
server = socket.create_server(("127.0.0.1", 9000))
loop, links = select.epoll(), {}
loop.register(server, select.EPOLLIN)
wanted = select.EPOLLIN | (select.EPOLLOUT if sys.argv[1] == "bad" else 0)
while True:
    for number, events in loop.poll():
        if number == server.fileno():
            link, _ = server.accept()
            links[link.fileno()] = link
            loop.register(link, wanted)
        elif events & select.EPOLLIN:
            data = links[number].recv(100)
            if data:
                links[number].send(data)
            else:
                loop.unregister(number)
                links.pop(number).close()
"""


def play(scene):
    Path("/scene/relay.py").write_text(CODE)
    scene.start("python3", "/scene/relay.py", "bad" if scene.is_bad else "healthy")
    scene.wait_port(9000)
    import socket
    import threading

    links = {}

    def ask() -> None:
        link = links.get(threading.get_ident()) or links.setdefault(
            threading.get_ident(), socket.create_connection(("127.0.0.1", 9000))
        )
        link.send(b"hello")
        link.recv(100)
        time.sleep(0.2)

    scene.fork("client", ask, count=2)
    with scene.recording():
        time.sleep(1)

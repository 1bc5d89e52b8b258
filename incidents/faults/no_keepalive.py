"""A service opens a new TCP connection for each question to a cache 20 ms away: the handshake takes as long as the question.

Source: RFC 9293, 3.5 (the handshake is a round trip); "High Performance Browser Networking", "Three-Way Handshake"; tun(4) is the wire.
"""

import ctypes
import fcntl
import os
import select
import struct
import time
from collections import deque

from programs import gunicorn, web_clients

CAUSE = "gunicorn connects to the cache 10.8.0.2:6379 again for each question, 20 ms each"
NAMED = r"gunicorn.*(\bconnect\b|connects|new connection|handshake).*10\.8\.0\.2:6379|gunicorn.*10\.8\.0\.2:6379.*(\bconnect\b|connects|new connection|handshake)"
BLAMED = r"^gunicorn .*(connect|handshake).*(6379|redis)|^gunicorn .*(6379|redis).*(connect|handshake)"
MOVED = r"(connect|handshake).*10\.8\.0\.2:6379|10\.8\.0\.2:6379.*(connect|handshake)"
TRUE_ALSO = r"10\.8\.0\.2:6379|wire"  # each question takes its 20 ms in the healthy one too

NEW_NETWORK, DELAY_S = 0x40000000, 0.01


def tunnel(name: str) -> int:
    """Open a network device whose packets are read and written by this process (tun(4): TUNSETIFF; IFF_TUN, IFF_NO_PI)."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))
    return file


def play(scene):
    ends = []
    near = tunnel("near")

    def carry() -> None:
        """Carry packets between two network namespaces, each 10 ms late; the cache is in the other one."""
        if not ends:
            ctypes.CDLL(None).unshare(NEW_NETWORK)
            ends[:] = [near, tunnel("far")]
            for words in ("addr add 10.8.0.2/24 dev far", "link set far up"):
                scene.run("ip", *words.split())
            scene.start("redis-server", "--port", "6379", "--save", "", "--protected-mode", "no")
        due = deque()
        while True:
            wait = max(0, due[0][0] - time.monotonic()) if due else None
            for end in select.select(ends, [], [], wait)[0]:
                due.append((time.monotonic() + DELAY_S, ends[end == ends[0]], os.read(end, 65536)))
            while due and due[0][0] <= time.monotonic():
                _, end, packet = due.popleft()
                os.write(end, packet)

    scene.fork("wire", carry)
    os.close(near)
    scene.run("ip", "addr", "add", "10.8.0.1/24", "dev", "near")
    scene.run("ip", "link", "set", "near", "up")
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

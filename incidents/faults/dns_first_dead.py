"""The first of two name servers is a host that is gone: each look-up waits for a second before the other one is asked.

Source: resolv.conf(5): "the algorithm used is to try a name server, and if the query times out, try the next"; options timeout.
"""

import fcntl
import os
import struct
import time
from pathlib import Path

from programs import get, gunicorn

CAUSE = "the name server 10.9.0.53 does not answer"
NAMED = r"10\.9\.0\.53:53"
BLAMED = r"10\.9\.0\.53"
MOVED = r"10\.9\.0\.53"


def play(scene):
    # What is sent to 10.9.0.0/24 goes nowhere: nobody reads this network device (tun(4): TUNSETIFF; IFF_TUN, IFF_NO_PI).
    scene.wire = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(scene.wire, 0x400454CA, struct.pack("16sH22x", b"away", 0x1001))
    scene.run("ip", "addr", "add", "10.9.0.1/24", "dev", "away")
    scene.run("ip", "link", "set", "away", "up")
    Path("/scene/hosts").write_text("127.0.0.1 localhost\n127.0.0.1 backend.internal\n")
    scene.start(
        "dnsmasq",
        "-k",
        "--no-resolv",
        "--no-hosts",
        "--addn-hosts=/scene/hosts",
        "--listen-address=127.0.0.54",
        "--bind-interfaces",
        "-u",
        "root",
    )
    servers = ["10.9.0.53", "127.0.0.54"] if scene.is_bad else ["127.0.0.54", "10.9.0.53"]
    Path("/etc/resolv.conf").write_text("".join(f"nameserver {each}\n" for each in servers) + "options timeout:1\n")
    gunicorn(
        scene,
        """
        import socket
        def app(environ, start_response):
            socket.getaddrinfo("backend.internal", 80, socket.AF_INET)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=4",
    )

    def ask():
        get("http://127.0.0.1:8000/")
        time.sleep(0.1)

    scene.fork("client", ask, count=3)
    with scene.recording():
        time.sleep(1)

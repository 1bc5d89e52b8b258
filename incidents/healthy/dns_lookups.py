"""Programs look names up at dnsmasq, which answers from its files; some names are not there, and that is an answer too."""

import contextlib
import random
import socket
import time
from pathlib import Path


def play(scene):
    Path("/scene/hosts").write_text("".join(f"10.0.0.{n} host{n}.internal\n" for n in range(1, 200)))
    scene.start(
        "dnsmasq",
        "-k",
        "--no-resolv",
        "--no-hosts",
        "--addn-hosts=/scene/hosts",
        "--local=/internal/",
        "--local-ttl=1",
        "--listen-address=127.0.0.1",
        "--bind-interfaces",
        "-u",
        "root",
    )
    Path("/etc/resolv.conf").write_text("nameserver 127.0.0.1\n")

    def look():
        with contextlib.suppress(socket.gaierror):
            socket.getaddrinfo(f"host{random.randint(1, 220)}.internal", 80)
        time.sleep(random.uniform(0.005, 0.05))

    scene.fork("app", look, count=4)
    with scene.recording():
        time.sleep(1)

"""Each look-up of a name asks for it below five search domains first: twelve questions instead of two, ten of them in vain.

Source: resolv.conf(5), ndots and search; Kubernetes' documentation, "DNS for Services and Pods": ndots:5 is its default.
"""

import socket
import threading
import time
from pathlib import Path

from programs import gunicorn, web_clients

CAUSE = "gunicorn asks the name server 127.0.0.54:53 twelve times for each look-up: the search domains of resolv.conf"
NAMED = r"127\.0\.0\.54:53.*(search|names|times)"
BLAMED = r"^(gunicorn|client) .*(127\.0\.0\.5[43]|resolver|dnsmasq)"
MOVED = r"127\.0\.0\.5[43]|resolver|dnsmasq"


def play(scene):
    above = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    above.bind(("127.0.0.53", 53))

    def resolve():
        question, asker = above.recvfrom(512)
        question = question.split(b"\0\0\x29")[0]
        # NXDOMAIN
        answer = question[:2] + b"\x81\x83" + question[4:6] + b"\0\0\0\0\0\0" + question[12:]
        threading.Timer(0.004, above.sendto, (answer, asker)).start()

    scene.fork("resolver", resolve)
    Path("/scene/hosts").write_text("127.0.0.1 db.shop.test\n")
    scene.start(
        "dnsmasq",
        "-k",
        "--no-resolv",
        "--no-hosts",
        "--addn-hosts=/scene/hosts",
        "--no-negcache",
        "--server=127.0.0.53",
        "--local=/shop.test/",
        "--listen-address=127.0.0.54",
        "--bind-interfaces",
        "-u",
        "root",
    )
    domains = "prod.svc.cluster.internal svc.cluster.internal cluster.internal eu.example.net example.net"
    Path("/etc/resolv.conf").write_text(
        "nameserver 127.0.0.54\n" + (f"search {domains}\noptions ndots:5\n" if scene.is_bad else "")
    )
    gunicorn(
        scene,
        """
        import socket
        def app(environ, start_response):
            socket.getaddrinfo("db.shop.test", 80)
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=4",
    )
    web_clients(scene, "http://127.0.0.1:8000/", pause_s=0.05)
    with scene.recording():
        time.sleep(1)

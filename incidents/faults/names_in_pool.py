"""Each look-up of a name holds one of the four threads of Node's pool until a slow name server answers: reads of files wait for a free one.

Source: Node.js' documentation, dns.lookup(): "a synchronous call to getaddrinfo(3) that runs on libuv's threadpool ... can have surprising negative
implications".
"""

import socket
import threading
import time
from pathlib import Path

from programs import kept_clients, node

CAUSE = "the pool's threads of node wait for the name server 127.0.0.53:53 (resolver), which takes 200 ms"
NAMED = r"node.*(127\.0\.0\.53|resolver)"
BLAMED = r"^(reader|node) .*(127\.0\.0\.53|resolver)"
MOVED = r"(127\.0\.0\.53|resolver)"
FELT = True


def play(scene):
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.bind(("127.0.0.53", 53))

    def serve():
        question, asker = door.recvfrom(512)
        answer = question[:2] + b"\x81\x80" + question[4:6] + b"\0\1\0\0\0\0" + question[12:]
        answer = answer.split(b"\0\0\x29")[0]  # no EDNS record
        answer += b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1"
        threading.Timer(0.2 if scene.is_bad else 0.001, door.sendto, (answer, asker)).start()

    scene.fork("resolver", serve)
    Path("/etc/resolv.conf").write_text("nameserver 127.0.0.53\n")
    node(
        scene,
        """
        const dns = require("dns"), fs = require("fs");
        setInterval(() => dns.lookup("partner.shop.test", { family: 4 }, () => {}), 40);
        require("http").createServer((asked, answer) => {
          fs.readFile("/scene/app.js", (error, text) => answer.end(text));
        }).listen(3000, "127.0.0.1");
        """,
    )
    kept_clients(scene, 3000, count=4, pause_s=0.03, name="reader")
    with scene.recording():
        time.sleep(1)

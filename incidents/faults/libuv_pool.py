"""Look-ups of names hold the four threads of Node.js's pool, one look-up each: reads of files wait for a free thread, also those of other requests.

Source: Node.js documentation, dns, "Implementation considerations": dns.lookup() runs in libuv's threadpool; UV_THREADPOOL_SIZE.
"""

import socket
import threading
import time
from pathlib import Path

from programs import kept_clients, node

CAUSE = "the four threads of node's pool are all in look-ups; other work of the process waits for one of them"
NAMED = r"(pool|4 threads|all threads).*node|node.*(pool|4 threads|4 of its)"
BLAMED = r"^(reader|node) .*node"
MOVED = r"(reader|node).*(pool|node)"
TRUE_ALSO = r"127\.0\.0\.53:53"  # each look-up takes 200 ms, in both


def play(scene):
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.bind(("127.0.0.53", 53))

    def resolve():
        question, asker = door.recvfrom(512)
        answer = question[:2] + b"\x81\x80" + question[4:6] + b"\0\1\0\0\0\0" + question[12:]
        answer = answer.split(b"\0\0\x29")[0] + b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1"
        threading.Timer(0.2, door.sendto, (answer, asker)).start()

    scene.fork("resolver", resolve)
    Path("/etc/resolv.conf").write_text("nameserver 127.0.0.53\n")
    (scene.folder / "page").write_text("words " * 500)
    node(
        scene,
        """
        const http = require('http'), fs = require('fs'), dns = require('dns');
        http.createServer((request, response) => {
          if (request.url == '/call') dns.lookup('backend.internal', {family: 4}, () => response.end('called'));
          else fs.readFile('/scene/page', (error, text) => response.end(text));
        }).listen(3000, '127.0.0.1');
        """,
        UV_THREADPOOL_SIZE="4" if scene.is_bad else "64",
    )
    kept_clients(scene, 3000, "/call", count=10, pause_s=0.05, name="caller")
    kept_clients(scene, 3000, "/page", count=3, pause_s=0.02, name="reader")
    with scene.recording():
        time.sleep(1)

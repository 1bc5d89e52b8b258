"""A server of Node.js closes a connection that was idle for 100 ms; its clients keep theirs longer and do not look before they ask: half of their questions fail.

Source: Node.js' documentation, server.keepAliveTimeout; RFC 9112, 9.8: "a client ... might have a request in flight as the server closes".
"""

import time

from programs import kept_clients, node

CAUSE = "node closes idle connections of client to 127.0.0.1:3000 on which it then asks"
NAMED = r"(client|node).*127\.0\.0\.1:3000.*(clos|reset)|(client|node).*(clos|reset).*127\.0\.0\.1:3000"
BLAMED = ""
MOVED = r"127\.0\.0\.1:3000.*(clos|reset)|(clos|reset).*127\.0\.0\.1:3000"
FELT = True


def play(scene):
    node(
        scene,
        f"""
        const server = require("http").createServer((asked, answer) => answer.end("hello"));
        server.keepAliveTimeout = {100 if scene.is_bad else 5000};
        server.listen(3000, "127.0.0.1");
        """,
    )
    kept_clients(scene, 3000, count=8, pause_s=0.1)
    with scene.recording():
        time.sleep(1)

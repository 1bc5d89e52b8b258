"""One route of a Node.js server computes for 250 ms: its event loop serves nobody meanwhile.

Source: nodejs.org, "Don't Block the Event Loop".
"""

import time

from programs import node, web_clients

CAUSE = "the event loop of node is blocked by computing"
NAMED = r"event_loop_(blocked|computes).*node"
BLAMED = r"^(client|fast) .*node"
MOVED = r"node"


def play(scene):
    node(
        scene,
        """
        const http = require('http');
        http.createServer((request, response) => {
          if (request.url === '/report') { const end = Date.now() + 250; let n = 0; while (Date.now() < end) n += Math.sqrt(n); }
          response.end('hello');
        }).listen(3000, '127.0.0.1');
        """,
    )
    web_clients(scene, "http://127.0.0.1:3000/", name="fast")
    web_clients(
        scene, f"http://127.0.0.1:3000/{'report' if scene.is_bad else ''}", name="reporter", count=1, pause_s=0.3
    )
    with scene.recording():
        time.sleep(1)

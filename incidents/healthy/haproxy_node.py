"""HAProxy before two servers of Node.js, with health checks each half a second and kept connections."""

import time
from pathlib import Path

from programs import kept_clients, node

CONFIGURATION = """
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
frontend web
  bind 127.0.0.1:8080
  default_backend servers
backend servers
  option httpchk GET /health
  default-server check inter 500ms
  server a 127.0.0.1:3000
  server b 127.0.0.1:3001
"""


def play(scene):
    node(
        scene,
        """
        const http = require('http');
        for (const port of [3000, 3001])
          http.createServer((request, response) => { response.end(JSON.stringify({port, at: Date.now()})); }).listen(port, '127.0.0.1');
        """,
    )
    Path("/scene/haproxy.cfg").write_text(CONFIGURATION)
    scene.start("haproxy", "-f", "/scene/haproxy.cfg")
    scene.wait_port(8080)
    kept_clients(scene, 8080, count=4, pause_s=0.01)
    with scene.recording():
        time.sleep(1)

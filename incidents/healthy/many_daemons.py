"""Nine daemons that have next to nothing to do: each wakes up by its own timers, most of them sleep all the time."""

import time
from pathlib import Path

from programs import gunicorn, java, nginx, node, postgres, redis

CONFIGURATION = """
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
listen web
  bind 127.0.0.1:8081
  option httpchk GET /
  server a 127.0.0.1:8080 check inter 1s
"""


def play(scene):
    postgres(scene)
    redis(scene)
    nginx(scene, "location / { return 200 hello; }")
    scene.start("memcached", "-u", "root", "-l", "127.0.0.1")
    scene.start("dnsmasq", "-k", "--no-resolv", "--no-hosts", "--port=5353", "-u", "root")
    gunicorn(scene, "def app(e, s):\n    s('200 OK', [])\n    return [b'x']\n", "--workers=2")
    node(scene, "require('http').createServer((q, r) => r.end()).listen(3000); setInterval(() => {}, 1000);")
    java(
        scene,
        """
        public class Main { public static void main(String[] a) throws Exception { new java.net.ServerSocket(7000).accept(); Thread.sleep(600000); } }
        """,
        "-Xmx32m",
    )
    Path("/scene/haproxy.cfg").write_text(CONFIGURATION)
    scene.start("haproxy", "-f", "/scene/haproxy.cfg")
    with scene.recording():
        time.sleep(1)

"""A gateway sends the questions of all its clients over one connection, on which they are answered in order: a slow one holds those behind it.

Source: RFC 9112, 9.3.2 Pipelining, and RFC 9113, 1: head-of-line blocking.
"""

import time
from pathlib import Path

from programs import kept_clients

CAUSE = "the questions of gateway to 127.0.0.1:7001 share one connection; quick ones wait behind slow ones"
NAMED = r"gateway.*127\.0\.0\.1:7001.*(connection|in order|behind)|gateway.*connection.*127\.0\.0\.1:7001"
BLAMED = r"^(client|gateway) .*(7001|store)"
MOVED = r"(client|gateway).*(7001|store|gateway)"
TRUE_ALSO = r"store|7001"  # one of thirty answers takes 200 ms


STORE = """
import ctypes, socket, threading, time
ctypes.CDLL(None).prctl(15, b"store", 0, 0, 0)
door = socket.create_server(("127.0.0.1", 7001))
def serve(link):
    for line in link.makefile("rb"):
        time.sleep(0.2 if line.startswith(b"slow") else 0.001)
        link.sendall(line)
while True:
    threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()
"""

GATEWAY = """
import ctypes, http.server, queue, socket, sys, threading
ctypes.CDLL(None).prctl(15, b"gateway", 0, 0, 0)
class Link:
    def __init__(self):
        self.socket, self.lock, self.waiting = socket.create_connection(("127.0.0.1", 7001)), threading.Lock(), queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
    def read(self):
        for line in self.socket.makefile("rb"):
            self.waiting.get().set()
    def ask(self, word):
        done = threading.Event()
        with self.lock:
            self.waiting.put(done)
            self.socket.sendall(word + b"\\n")
        done.wait()
links, local = [Link() for _ in range(int(sys.argv[1]))], threading.local()
count = iter(range(10**9))
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if not hasattr(local, "link"):
            local.link = links[next(count) % len(links)]
        local.link.ask(b"slow" if self.path == "/slow" else b"quick")
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", 7000), Answer).serve_forever()
"""


def play(scene):
    Path("/scene/store.py").write_text(STORE)
    Path("/scene/gateway.py").write_text(GATEWAY)
    scene.start("python3", "/scene/store.py")
    scene.wait_port(7001)
    scene.start("python3", "/scene/gateway.py", "1" if scene.is_bad else "20")
    scene.wait_port(7000)
    kept_clients(scene, 7000, "/quick", count=8, pause_s=0.02)
    kept_clients(scene, 7000, "/slow", count=1, pause_s=0.3, name="exporter")
    with scene.recording():
        time.sleep(1)

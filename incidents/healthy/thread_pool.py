"""A server starts a thread per connection, and ends it with the connection: 40 short connections a second."""

import http.server
import time

from programs import web_clients


class Answer(http.server.BaseHTTPRequestHandler):
    """A short answer to each request."""

    def do_GET(self):
        """Answer with five bytes."""
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *words):
        """Write no log."""


def play(scene):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Answer)
    scene.fork("server", server.serve_forever)
    scene.wait_port(8000)
    web_clients(scene, "http://127.0.0.1:8000/", count=4, pause_s=0.1)
    with scene.recording():
        time.sleep(1)

import ctypes
import http.server
import os
import sys
import threading
import time
import urllib.request


def name(text):
    return ctypes.CDLL(None).prctl(15, text, 0, 0, 0)


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *words):
        pass


if os.fork():
    name(b"client")
    time.sleep(0.4)
    for _ in range(40):
        urllib.request.urlopen("http://127.0.0.1:8000/").read()
        time.sleep(0.01)
    os.wait()
else:
    name(b"server")

    def report():
        name(b"report")
        while True:
            sum(n * n for n in range(1000))

    todo = threading.Condition()

    def worker():
        name(b"worker")
        while True:
            with todo:
                todo.wait(0.01)

    if sys.argv[1] == "report":
        threading.Thread(target=report, daemon=True).start()
    else:
        for _ in range(3):
            threading.Thread(target=worker, daemon=True).start()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Answer)
    threading.Timer(2.2, lambda: os._exit(0)).start()
    server.serve_forever()

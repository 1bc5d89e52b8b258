"""A page shows events as they happen, which node streams; nginx is between and collects what it passes on until a buffer is full.

Source: nginx' manual, ngx_http_proxy_module: proxy_buffering; "Server-sent events are late behind nginx" (X-Accel-Buffering).
"""

import socket
import threading
import time

from programs import nginx, node

CAUSE = "nginx keeps what node (127.0.0.1:3000) streams until a buffer is full, before it passes it on to browser"
NAMED = (
    r"nginx.*(holds? back|keeps? (what|data|bytes|it\b)|pass(es|ed) .*\bon\b|buffers? (what|until|of)|until .*\bfull)"
)
BLAMED = r"^browser .*nginx(?!.*(node|3000))"
MOVED = NAMED
FELT = True


def play(scene):
    node(
        scene,
        """
        require("http").createServer((question, answer) => {
            answer.writeHead(200, {"Content-Type": "text/event-stream"});
            const text = "price of everything ".repeat(6);
            const timer = setInterval(() => answer.write(`data: ${Date.now()} ${text}\\n\\n`), 20);
            question.on("close", () => clearInterval(timer));
        }).listen(3000);
        """,
    )
    how = "on" if scene.is_bad else "off"
    nginx(scene, f"location / {{ proxy_pass http://127.0.0.1:3000; proxy_buffering {how}; }}")
    links = {}

    def ask():
        me = threading.get_ident()
        if me not in links:
            links[me] = socket.create_connection(("127.0.0.1", 8080))
            links[me].sendall(b"GET /events HTTP/1.1\r\nHost: shop\r\n\r\n")
        with scene.clock.asking():
            if not links[me].recv(65536):
                links.pop(me).close()

    scene.fork("browser", ask, count=3)
    with scene.recording():
        time.sleep(1)

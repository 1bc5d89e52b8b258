"""Long polling: a client's question is answered when there is news, each second or so. That it waits is what it is for."""

import time

from programs import kept_clients, node


def play(scene):
    node(
        scene,
        """
        const http = require('http');
        let waiting = [];
        (function news() {
          for (const response of waiting) response.end('news');
          waiting = [];
          setTimeout(news, 600 + 700 * Math.random());
        })();
        http.createServer((request, response) => { waiting.push(response); }).listen(3000, '127.0.0.1');
        """,
    )
    kept_clients(scene, 3000, count=10, pause_s=0.005, name="browser")
    with scene.recording():
        time.sleep(1)

"""A server of Node.js with timers: some answers come after a timer of 1 to 5 ms, and an interval writes figures each 100 ms."""

import time

from programs import kept_clients, node


def play(scene):
    node(
        scene,
        """
        const http = require('http'), fs = require('fs');
        let served = 0;
        setInterval(() => fs.appendFile('/scene/figures', served + '\\n', () => {}), 100);
        http.createServer((request, response) => {
          served++;
          setTimeout(() => response.end('hello'), 1 + served % 5);
        }).listen(3000, '127.0.0.1');
        """,
    )
    kept_clients(scene, 3000, count=6, pause_s=0.02)
    with scene.recording():
        time.sleep(1)

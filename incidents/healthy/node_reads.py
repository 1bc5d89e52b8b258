"""Node.js reads files for its clients, and looks a name up now and then: its pool of four threads is idle most of the time."""

import time

from programs import kept_clients, node


def play(scene):
    for number in range(20):
        (scene.folder / f"page{number}").write_text(f"words of page {number} " * 400)
    node(
        scene,
        """
        const http = require('http'), fs = require('fs'), dns = require('dns');
        let count = 0;
        http.createServer((request, response) => {
          count += 1;
          if (count % 20 == 0) dns.lookup('localhost', () => response.end('found'));
          else fs.readFile('/scene/page' + count % 20, (error, text) => response.end(text));
        }).listen(3000, '127.0.0.1');
        """,
    )
    kept_clients(scene, 3000, count=6, pause_s=0.04)
    with scene.recording():
        time.sleep(1)

"""Node.js compresses files for its clients: its pool of four threads does that, the event loop goes on."""

import time

from programs import kept_clients, node


def play(scene):
    (scene.folder / "text").write_bytes(b"some words of a page " * 8000)
    node(
        scene,
        """
        const http = require('http'), fs = require('fs'), zlib = require('zlib');
        http.createServer((request, response) => {
          fs.readFile('/scene/text', (error, text) => zlib.gzip(text, (error, small) => response.end(small)));
        }).listen(3000, '127.0.0.1');
        """,
    )
    kept_clients(scene, 3000, count=3, pause_s=0.03)
    with scene.recording():
        time.sleep(1)

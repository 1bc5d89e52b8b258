"""Flushes to a slow disk hold the four threads of Node.js's pool: what reads a file that is in memory waits for a free thread.

Source: Node.js documentation, "Don't Block the Event Loop (or the Worker Pool)"; libuv, "Thread pool work scheduling": UV_THREADPOOL_SIZE.
"""

import time

from programs import kept_clients, node

CAUSE = "the four threads of node's pool are all in fsync; other work of the process waits for one of them"
NAMED = r"(pool|4 threads|all threads).*node|node.*(pool|4 threads|4 of its)"
BLAMED = r"^(reader|node|writer) .*(node|loop\d)"
MOVED = r"(reader|node).*(pool|node|loop\d)"
TRUE_ALSO = r"loop\d|fsync|writer"  # the disk is slow in both


def play(scene):
    device = scene.file_system("/mnt", "256M")
    (scene.folder / "page").write_text("words " * 500)
    node(
        scene,
        """
        const http = require('http'), fs = require('fs');
        http.createServer((request, response) => {
          if (request.url == '/write') fs.open('/mnt/journal', 'a', (e, file) => fs.write(file, 'x'.repeat(200), () =>
            fs.fsync(file, () => fs.close(file, () => response.end('written')))));
          else fs.readFile('/scene/page', (error, text) => response.end(text));
        }).listen(3000, '127.0.0.1');
        """,
        UV_THREADPOOL_SIZE="4" if scene.is_bad else "64",
    )
    scene.throttle(device, 30)
    kept_clients(scene, 3000, "/write", count=10, pause_s=0.05, name="writer")
    kept_clients(scene, 3000, "/page", count=3, pause_s=0.02, name="reader")
    with scene.recording():
        time.sleep(1)

"""A tool watches thousands of files for changes by asking for the state of each ten times a second (fs.watchFile), as inotify has failed in its container before.

Source: Node.js documentation, fs.watchFile: "fs.watch() is more efficient than fs.watchFile()"; chokidar's README, usePolling: "if polling leads to high CPU utilization, consider setting this to false".
"""

import time
from pathlib import Path

from programs import kept_clients, node

CAUSE = "node's pool asks for the state of thousands of files again and again (statx); reads of the pages wait for a free thread"
NAMED = r"node.*(statx|newfstatat|\bl?stat\b|uv__fs)"
BLAMED = r"^(client|node) .*(statx|newfstatat|\bl?stat\b|uv__fs)"
MOVED = r"node.*(statx|newfstatat|\bl?stat\b|uv__fs)"
FELT = True


def play(scene):
    folder = Path("/scene/source")
    folder.mkdir()
    for number in range(3000):
        (folder / f"{number}.js").touch()
    (scene.folder / "page").write_text("words " * 500)
    watch = "fs.watchFile('/scene/source/' + name, {interval: 100}, () => 0)" if scene.is_bad else "0"
    node(
        scene,
        f"""
        const http = require('http'), fs = require('fs');
        fs.watch('/scene/source', () => 0);
        for (const name of fs.readdirSync('/scene/source')) {watch};
        http.createServer((request, response) => fs.readFile('/scene/page', (error, text) => response.end(text))).listen(3000, '127.0.0.1');
        """,
    )
    kept_clients(scene, 3000, "/page", count=4, pause_s=0.03)
    with scene.recording():
        time.sleep(1)

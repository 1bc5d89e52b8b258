"""A handler of Node.js writes its journal with fsyncSync: each flush of a slow disk stops the event loop.

Source: Node.js documentation, "Don't Block the Event Loop": synchronous APIs of fs.
"""

import time

from programs import kept_clients, node

CAUSE = "node waits in fsync for a slow disk, in its event loop"
NAMED = r"node.*(fsync|disk|loop)"
BLAMED = r"^(node|client) .*(fsync|disk)"
MOVED = r"node.*(fsync|disk|loop)"


def play(scene):
    device = scene.file_system("/mnt", "256M")
    node(
        scene,
        f"""
        const fs = require('fs'), file = fs.openSync('/mnt/journal', 'a');
        require('http').createServer((request, response) => {{
          if (request.url == '/write') {{
            fs.writeSync(file, 'x'.repeat(200) + '\\n');
            {"fs.fsyncSync(file);" if scene.is_bad else ""}
          }}
          response.end('hello');
        }}).listen(3000, '127.0.0.1');
        """,
    )
    if scene.is_bad:
        scene.throttle(device, 30)
    kept_clients(scene, 3000, "/write", count=2, pause_s=0.02, name="writer")
    kept_clients(scene, 3000, "/", count=2, pause_s=0.01)
    with scene.recording():
        time.sleep(1)

"""The heap of a Node.js server is nearly full of live data: V8 collects garbage most of the time.

Source: Node.js documentation, "Understanding and Tuning Memory": --max-old-space-size.
"""

import time

from programs import kept_clients

CAUSE = "node spends its CPU time in garbage collection: the heap is too small"
NAMED = r"node.*(garbage|GC|Mark|Scaveng)"
BLAMED = r"node.*(GC|Mark|Scaveng|garbage)"
MOVED = r"node.*(GC|Mark|Scaveng|garbage)"


def play(scene):
    from pathlib import Path

    Path("/scene/app.js").write_text("""
const kept = [];
for (let i = 0; i < 300000; i++) kept.push({number: i, text: 'x' + i, next: [i]});
require('http').createServer((request, response) => {
  for (let i = 0; i < 100; i++) { const at = Math.floor(Math.random() * kept.length); kept[at] = {number: i, text: 'y' + i, next: [i, i]}; }
  response.end('hello');
}).listen(3000, '127.0.0.1');
""")
    scene.start("node", "--max-old-space-size=" + ("64" if scene.is_bad else "1000"), "/scene/app.js")
    scene.wait_port(3000)
    kept_clients(scene, 3000, count=2, pause_s=0.01)
    with scene.recording():
        time.sleep(1)

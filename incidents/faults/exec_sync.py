"""For each picture that is uploaded, node starts a program and waits for its end in its event loop (execFileSync): requests for pages meanwhile wait, too.

Source: Node.js' manual, "Synchronous process creation": "these methods will block the Node.js event loop".
"""

import http.client
import time
from pathlib import Path

from programs import kept_clients, node

CAUSE = "node waits in its event loop for the end of thumb, which it starts for each picture; requests for pages wait"
NAMED = r"node.*(wait|block|asleep).*\bthumb\b"
BLAMED = r"^(browser|uploader|node) .*\bthumb\b"
MOVED = NAMED
FELT = True


def play(scene):
    Path("/scene/thumb.c").write_text("#include <unistd.h>\nint main() { usleep(80000); return 0; }\n")
    scene.run("gcc", "-o", "/scene/thumb", "/scene/thumb.c")
    how = "run.execFileSync('/scene/thumb'); done();" if scene.is_bad else "run.execFile('/scene/thumb', done);"
    node(
        scene,
        f"""
        const run = require("child_process");
        require("http").createServer((question, answer) => {{
            const done = () => answer.end("hello");
            if (question.url == "/picture") {{ {how} }} else done();
        }}).listen(3000);
        """,
    )
    kept_clients(scene, 3000, "/page", count=4, pause_s=0.03, name="browser")
    link = http.client.HTTPConnection("127.0.0.1", 3000)

    def upload():
        link.request("POST", "/picture")
        link.getresponse().read()
        time.sleep(0.1)

    scene.fork("uploader", upload)
    with scene.recording():
        time.sleep(1)

"""An export goes through gzip -9, which takes far longer for a block than the programs before and behind it: both wait for it, and the CPUs idle.

Source: Gregg, "Systems Performance", 2nd edition, 2.5: a pipeline is as fast as its slowest stage; pipe(7): a write blocks while the pipe is full.
"""

import os
import subprocess
import time
from pathlib import Path

CAUSE = "export and upload wait for gzip, the slowest program of the pipeline"
NAMED = r"gzip"
BLAMED = r"^(export|upload) .*running gzip"
MOVED = r"(export|upload) waits .*gzip|gzip"


def play(scene):
    Path("/scene/words").write_text(
        "".join(f"{n * 7919 % 100003} sold {n % 97} pieces at {n % 1009}.99\n" for n in range(200_000))
    )
    text = Path("/scene/words").read_bytes()
    gzip = subprocess.Popen(
        ["gzip", "-9" if scene.is_bad else "-1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    state = {"at": 0}

    def export():
        # 20 MB a second if it may
        if state.get("from") is None:
            state["from"] = time.monotonic()
        at = state["at"]
        gzip.stdin.write(text[at % len(text) : at % len(text) + 60_000])
        state["at"] += 60_000
        time.sleep(max(0, state["from"] + state["at"] / 20e6 - time.monotonic()))

    def upload():
        os.read(gzip.stdout.fileno(), 65536)

    scene.fork("export", export)
    scene.fork("upload", upload)
    gzip.stdin.close()
    gzip.stdout.close()
    with scene.recording():
        time.sleep(1)

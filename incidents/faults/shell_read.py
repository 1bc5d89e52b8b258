"""Lines go from export to upload through a filter. It is a loop of the shell, whose read takes one byte with each system call; awk, which did that before, took 4 kB.

Source: POSIX, Shell & Utilities, "read": a shell may not read beyond the line from a pipe; S. Chazelas, "Why is using a shell loop to process text considered bad practice?" (2013).
"""

import os
import subprocess
import time
from pathlib import Path

CAUSE = "paid (a loop of sh) reads its pipe one byte at a time"
NAMED = r"\bpaid\b.*\bread.*(one byte|\b1 byte|1\.0 B|1 B\b|single byte|byte at a time|bytes? each|bytes? at a time)"
BLAMED = r"^export .*\bpaid\b"
MOVED = NAMED
FELT = True

LOOP = """#!/bin/sh
while IFS= read -r line; do
    case $line in *paid*) echo "$line" ;; esac
done
"""


def play(scene):
    Path("/scene/paid").write_text(LOOP if scene.is_bad else "#!/usr/bin/awk -f\n/paid/\n")
    Path("/scene/paid").chmod(0o755)
    words = b"".join(
        b"order %06d %s %s\n" % (n, b"paid" if n % 20 == 0 else b"open", b"of a customer " * 12) for n in range(100)
    )
    paid = subprocess.Popen(["/scene/paid"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def export():
        with scene.clock.asking():
            paid.stdin.write(words)
        time.sleep(0.01)

    scene.fork("export", export)
    scene.fork("upload", lambda: os.read(paid.stdout.fileno(), 65536))
    with scene.recording():
        time.sleep(1)

"""A pipeline of commands: one makes lines, others sort and count them; each waits for the one before, as pipes do."""

import time


def play(scene):
    scene.start(
        "sh",
        "-c",
        "while :; do seq 1 200000 | awk '{print $1 % 1000, $1}' | sort -n | uniq -c | tail -n 1; sleep 0.5; done",
    )
    with scene.recording():
        time.sleep(1)

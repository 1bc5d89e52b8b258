"""A program writes 200 lines of log a second; tail follows them, grep looks for errors, and a third one counts."""

import random
import time


def play(scene):
    log = open(scene.folder / "app.txt", "a", buffering=1)  # noqa: SIM115 (it is open as long as the scene)

    def write():
        log.write(
            f"{time.time():.3f} {random.choice(['INFO', 'INFO', 'INFO', 'ERROR'])} request took {random.random():.3f} s\n"
        )
        time.sleep(0.005)

    scene.fork("app", write)
    scene.start(
        "sh", "-c", "tail -n 0 -F /scene/app.txt | grep --line-buffered ERROR | while read line; do n=$((n + 1)); done"
    )
    with scene.recording():
        time.sleep(1)

"""A program copies files of some megabytes on the disk and flushes each of them, with pauses between."""

import time


def play(scene):
    folder = scene.disk()
    (folder / "source").write_bytes(bytes(range(256)) * (4 << 12))
    scene.start(
        "sh",
        "-c",
        f"while :; do dd if={folder}/source of={folder}/copy bs=64k conv=fsync; rm {folder}/copy; sleep 0.5; done",
    )
    with scene.recording():
        time.sleep(1)

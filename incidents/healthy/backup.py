"""A backup at low priority: tar reads a tree, gzip packs it, the archive goes to the disk."""

import time


def play(scene):
    target = scene.disk() / "backup.tar.gz"
    scene.start(
        "sh",
        "-c",
        f"while :; do nice tar -C /usr -cf - lib/python3 lib/python3.11 lib/postgresql | nice gzip > {target}; sync {target}; done",
    )
    with scene.recording():
        time.sleep(1)

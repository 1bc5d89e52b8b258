"""A program starts a child for each task and does not wait for it: the children stay as zombies, hundreds of them.

Source: wait(2), NOTES: zombies "consume a slot in the kernel process table, and if this table fills, it will not be possible to create
further processes".
"""

import os
import signal
import time

CAUSE = "spawner does not reap its children: hundreds of zombies"
NAMED = r"spawner.*(zombie|reap|defunct)"
BLAMED = ""
MOVED = r"zombie|reap|defunct"


def play(scene):
    children = []

    def work() -> None:
        if scene.is_bad:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        child = os.fork()
        if not child:
            sum(range(50_000))
            os._exit(0)
        children.append(child)
        if not scene.is_bad:
            os.waitpid(children.pop(), 0)
        time.sleep(0.03)

    scene.fork("spawner", work)
    with scene.recording():
        time.sleep(1)

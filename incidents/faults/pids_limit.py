"""The control group of a program may have no more processes: it cannot start the helper that each of its tasks needs.

Source: Documentation/admin-guide/cgroup-v1/pids.rst: fork fails with EAGAIN.
"""

import time
from pathlib import Path

CAUSE = "worker cannot start processes: the pids limit of its control group is reached (clone fails with EAGAIN)"
NAMED = r"worker.*(clone|fork).*EAGAIN"
BLAMED = ""
MOVED = r"EAGAIN"

CODE = """
import ctypes, subprocess, time
ctypes.CDLL(None).prctl(15, b"worker", 0, 0, 0)
while True:
    try:
        subprocess.run(["true"])
    except OSError:
        pass
    time.sleep(0.05)
"""


def play(scene):
    Path("/scene/worker.py").write_text(CODE)
    scene.group("shop")
    group = next(
        path for path in (Path("/sys/fs/cgroup/pids/shop"), Path("/sys/fs/cgroup/shop")) if path.parent.exists()
    )
    group.mkdir(exist_ok=True)
    scene.groups.append(group)
    for _ in range(3):
        scene.start("python3", "/scene/worker.py", group="shop")
    time.sleep(1)
    if scene.is_bad:
        (group / "pids.max").write_text("3")
    with scene.recording():
        time.sleep(1)

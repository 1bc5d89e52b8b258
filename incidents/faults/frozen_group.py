"""The control group of Redis is frozen for three seconds, as docker pause does; its clients wait.

Source: docker's documentation, "docker container pause": the freezer control group; cgroup-v2.rst, cgroup.freeze.
"""

import time
from pathlib import Path

from programs import redis, redis_client

CAUSE = "redis-server was frozen with its control group for 3 s"
NAMED = r"redis-server.*(frozen|froze|stopped)"
BLAMED = r"^client .*redis-server"
MOVED = r"redis-server.*(frozen|froze|stopped)"


def play(scene):
    root = Path("/sys/fs/cgroup/freezer")
    root = root if root.is_dir() else Path("/sys/fs/cgroup")
    group = root / "perfcase-frozen"
    group.mkdir(exist_ok=True)
    scene.groups.append(group)
    redis(scene)
    pid = next(path.name for path in Path("/proc").glob("[0-9]*") if (path / "comm").read_text() == "redis-server\n")
    (group / "cgroup.procs").write_text(pid)
    redis_client(scene, "client", "GET", "key:42", count=4)
    file = group / ("freezer.state" if (group / "freezer.state").exists() else "cgroup.freeze")
    frozen, thawed = ("FROZEN", "THAWED") if file.name == "freezer.state" else ("1", "0")
    with scene.recording():
        time.sleep(1)
        if scene.is_bad:
            file.write_text(frozen)
            time.sleep(3)
            file.write_text(thawed)

"""What a fault or a healthy workload plays on: real programs in namespaces of their own.

``python3 scene.py FOLDER MODULE healthy|bad`` runs ``play(scene)`` of a module. It is the first process of a PID namespace, below a
root folder of the suite, so whatever it starts ends with it. Only Python's standard library is there.

The suite talks to it by two lines: the scene writes ``record`` when the load is under way, and reads a line when the recording has
begun, and another when it is over; then it writes what its clients felt.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import importlib.util
import json
import mmap
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

V2 = Path("/sys/fs/cgroup")
PR_SET_NAME = 15


class Clock:
    """How long the clients waited for what they asked for, by their own clock.

    It is memory that the scene's processes share, so a note of it is no system call that a recording would have.
    """

    PAGE, NOTE = 1 << 20, struct.Struct("ddd")  # began, took (0: nobody has answered yet), 1: an error

    def __init__(self, processes: int = 32) -> None:
        self.notes = mmap.mmap(-1, self.PAGE * processes)
        self.ends = [self.PAGE * process for process in range(1, processes + 1)]
        self.places = iter(())

    def next_process(self) -> None:
        """Give the process that is forked now its part of the memory."""
        self.places = iter(())  # more processes than there is memory for: what the others note will do
        if self.ends:
            end = self.ends.pop(0)
            self.places = iter(range(end - self.PAGE, end - self.NOTE.size, self.NOTE.size))

    @contextlib.contextmanager
    def asking(self):
        """Time one question; an exception is an error."""
        place, began, failed = next(self.places, None), time.monotonic(), 1.0
        if place is None:
            yield
            return
        self.NOTE.pack_into(self.notes, place, began, 0, 0)
        try:
            yield
            failed = 0.0
        finally:
            self.NOTE.pack_into(self.notes, place, began, time.monotonic() - began, failed)

    def told(self, since: float, until: float) -> dict[str, float]:
        """What clients felt between two times: questions that were in flight then, also those that nobody has answered."""
        took, failed = [], 0
        for page in range(0, len(self.notes), self.PAGE):
            for place in range(page, page + self.PAGE - self.NOTE.size, self.NOTE.size):
                began, lasted, error = self.NOTE.unpack_from(self.notes, place)
                if not began:
                    break
                if began < until and not (lasted and began + lasted < since):
                    took.append(lasted or until - began)
                    failed += bool(error)
        return {"questions": len(took), "mean_ms": sum(took) / max(1, len(took)) * 1000, "failed": failed}


class Scene:
    """One run of a workload, with its fault or without."""

    def __init__(self, folder: Path, is_bad: bool) -> None:
        self.folder, self.is_bad = folder, is_bad
        self.clock = Clock()
        self.groups: list[Path] = []
        self.throttled: dict[Path, str] = {}

    def start(self, *words: str, user: str | None = None, group: str | None = None, **changes: str) -> subprocess.Popen:
        """Start a program; what it prints goes to a file of its name in the folder."""
        number = pwd.getpwnam(user).pw_uid if user else None

        def begin() -> None:
            self.join(group)
            if user:
                os.setgid(pwd.getpwnam(user).pw_gid)
                os.setuid(number)

        with open(self.folder / f"{Path(words[0]).name}.log", "ab") as log:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=begin,
                env=os.environ | changes,
                cwd=self.folder,
            )

    def run(self, *words: str, user: str | None = None) -> None:
        """Run a program to its end."""
        if self.start(*words, user=user).wait() != 0:
            raise SystemExit(f"{words[0]} failed: {(self.folder / (Path(words[0]).name + '.log')).read_text()[-2000:]}")

    def fork(self, name: str, work, *, count: int = 1, group: str | None = None) -> int:
        """Start a process that calls ``work`` again and again, in ``count`` threads; returns its PID."""
        self.clock.next_process()
        child = os.fork()
        if child:
            return child
        self.join(group)
        ctypes.CDLL(None).prctl(PR_SET_NAME, name[:15].encode(), 0, 0, 0)
        sys.stdin.close()

        def again() -> None:
            ctypes.CDLL(None).prctl(PR_SET_NAME, name[:15].encode(), 0, 0, 0)
            while True:
                with contextlib.suppress(OSError, EOFError, http.client.HTTPException):
                    work()

        for _ in range(count - 1):
            threading.Thread(target=again, daemon=True).start()
        again()
        os._exit(0)

    def group(self, name: str, *, cpus: float | None = None, memory: int | None = None) -> str:
        """Make a control group with a quota in CPUs or a limit in bytes; the name is for ``start`` and ``fork``."""
        files = {}
        if cpus:
            # a share as large as that of the group around it
            lines = Path("/proc/self/cgroup").read_text().splitlines()
            around = next((line.split(":")[2] for line in lines if ":cpu:" in line), "/")
            shares = V2 / "cpu" / around.strip("/") / "cpu.shares"
            files |= {"cpu.shares": shares.read_text()} if shares.exists() else {}
            files |= {"cpu.max": f"{int(cpus * 100_000)} 100000", "cpu.cfs_quota_us": f"{int(cpus * 100_000)}"}
        if memory:
            files |= {"memory.max": f"{memory}", "memory.swap.max": "0", "memory.limit_in_bytes": f"{memory}"}
        for root in [
            V2,
            *(path for path in V2.iterdir() if path.is_dir() and path.name in ("cpu", "memory", "unified")),
        ]:
            # Under version 1 the folder above the hierarchies is none itself. Under version 2 the group above says which controllers there are.
            if (root / "cgroup.subtree_control").exists():
                for controller in (root / "cgroup.controllers").read_text().split():
                    with contextlib.suppress(OSError):
                        (root / "cgroup.subtree_control").write_text(f"+{controller}")
            if (root / "cgroup.procs").exists():
                with contextlib.suppress(OSError):
                    (root / name).mkdir(exist_ok=True)
                    self.groups.append(root / name)
        for path in (path for path in self.groups if path.name == name):
            for file, value in files.items():
                if (path / file).exists():
                    (path / file).write_text(value)
        return name

    def join(self, group: str | None) -> None:
        """Put this process into a group."""
        for path in self.groups:
            if path.name == group:
                (path / "cgroup.procs").write_text("0")

    def file_system(self, folder: str, size: str) -> str:
        """Mount a file system of its own at a folder; returns its block device."""
        image = f"/var/tmp/{Path(folder).name}.img"
        Path(image).unlink(missing_ok=True)
        self.run("truncate", "-s", size, image)
        self.run("mkfs.ext4", "-q", "-F", image)
        self.run("mount", "-o", "loop", image, folder)
        return next(
            line.split()[0] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[1] == folder
        )

    def throttle(self, device: str, per_second: int) -> None:
        """Let a block device take so many requests a second only, until the scene ends."""
        number = (Path("/sys/class/block") / Path(device).name / "dev").read_text().strip()
        for path in (V2 / "blkio").glob("blkio.throttle.*_iops_device"):
            path.write_text(f"{number} {per_second}")
            self.throttled[path] = f"{number} 0"
        if (V2 / "cgroup.controllers").exists():
            # Version 2 throttles what a group does with a device: here the group of all processes of the scene.
            group = V2 / self.group("scene")
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    (group / "cgroup.procs").write_text(process.name)
            (group / "io.max").write_text(f"{number} riops={per_second} wiops={per_second}")

    def disk(self) -> Path:
        """Make an empty folder on the disk of the root folder; the scene's own folder is in memory."""
        path = Path("/var/tmp/scene")
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        path.chmod(0o777)
        return path

    def wait_port(self, port: int, seconds: float = 40) -> None:
        """Wait until somebody listens on a port of loopback."""
        self.wait(lambda: socket.create_connection(("127.0.0.1", port), 1).close(), f"port {port}", seconds)

    def wait(self, try_it, what: str, seconds: float = 40) -> None:
        """Wait until a call raises no OSError."""
        end = time.monotonic() + seconds
        while True:
            try:
                return try_it()
            except OSError as error:
                if time.monotonic() > end:
                    logs = "\n".join(f"{path}: {path.read_text()[-500:]}" for path in self.folder.glob("*.log"))
                    raise SystemExit(f"waited {seconds} s for {what}: {error}\n{logs}") from error
                time.sleep(0.05)

    @contextlib.contextmanager
    def recording(self):
        """The time that the suite records; what is done in the block happens in it."""
        time.sleep(1)  # what began with the load is over
        print("record", flush=True)
        sys.stdin.readline()
        since = time.monotonic()
        yield
        sys.stdin.readline()
        print(json.dumps(self.clock.told(since, time.monotonic())), flush=True)

    def close(self) -> None:
        """Remove the control groups, whose processes end first, and the throttles."""
        for path, text in self.throttled.items():
            path.write_text(text)
        if (V2 / "cgroup.procs").exists():
            (V2 / "cgroup.procs").write_text("0")  # a throttle has put this process into a group
        for path in self.groups:
            for number in (path / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    os.kill(int(number), signal.SIGKILL)
        time.sleep(0.3 if self.groups else 0)
        for path in self.groups:
            with contextlib.suppress(OSError):
                path.rmdir()


def main() -> None:
    """Play a module."""
    folder, module, kind = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("play", module)
    play = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(__file__).parent))
    spec.loader.exec_module(play)
    scene = Scene(Path(folder), kind == "bad")
    try:
        play.play(scene)
    finally:
        scene.close()


if __name__ == "__main__":
    main()

"""Two moments of a host that does not exist, seen by a tool and by perfcase.

A tool that shows the difference of two readings runs in a mount namespace of its own, where folders that we made are /proc
and /sys; between its two readings the files change. perfcase imports the same two sets of files as a recorded stream.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

import duckdb
import pytest

from perfcase.case import store

# The files change half a second after the tool began: it reads them at once, and again after a second.
SCRIPT = """
mount --bind "$1/live/sys" /sys && mount --bind "$1/live/proc" /proc || exit 77
(sleep 0.5; rm -rf "$1/live/sys/block" "$1/live/sys/class"; cp -r "$1/after/." "$1/live/") &
shift
LC_ALL=C S_TIME_FORMAT=ISO exec "$@"
"""
CPU_COUNT = 2
# What the tools' libraries want to see beside the figures.
STATIC = {
    "/proc/cpuinfo": "".join(f"processor\t: {number}\n\n" for number in range(CPU_COUNT)),
    "/proc/self/status": "Name:\tx\nMems_allowed:\t1\nMems_allowed_list:\t0\n",
    "/sys/devices/system/cpu/online": f"0-{CPU_COUNT - 1}\n",
    "/sys/devices/system/cpu/possible": f"0-{CPU_COUNT - 1}\n",
    "/sys/devices/system/node/node0/cpulist": f"0-{CPU_COUNT - 1}\n",
    **{f"/sys/devices/system/cpu/cpu{number}/online": "1\n" for number in range(CPU_COUNT)},
}


@dataclass
class Moment:
    """What the files hold: path to text. Disks are in two places."""

    files: dict[str, str]
    disks: dict[str, list[int]] = field(default_factory=dict)

    def all_files(self, clock_s: float) -> dict[str, str]:
        found = {"/proc/uptime": f"{clock_s:.2f} 1.00\n", **self.files}
        found["/proc/diskstats"] = "".join(
            f" 8 {crc32(name.encode()) % 1000} {name} {' '.join(map(str, fields))}\n"
            for name, fields in self.disks.items()
        )
        for name, fields in self.disks.items():
            found[f"/sys/block/{name}/stat"] = " ".join(map(str, fields)) + "\n"
        return found


@dataclass
class Host:
    """A host before and after an interval."""

    folder: Path
    before: Moment
    after: Moment
    interval_s: float = 1.0
    between: list[Moment] = field(default_factory=list)
    """Moments that perfcase sees and the tool does not: its figures are of the whole time, in which ours are of several intervals."""

    def _trees(self) -> None:
        for name, moment, clock_s in (
            ("before", self.before, 1000.0),
            ("after", self.after, 1000.0 + self.interval_s),
            ("live", self.before, 1000.0),
        ):
            root = self.folder / name
            for folder in ("proc", "sys/block", "sys/class/net"):
                (root / folder).mkdir(parents=True, exist_ok=True)
            for path, text in {**STATIC, **moment.all_files(clock_s)}.items():
                file = root / path.lstrip("/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="ascii")

    def run(self, *command: str) -> str:
        """What the tool prints."""
        if shutil.which("unshare") is None or shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} or unshare is not installed: nothing to compare with")
        shutil.rmtree(self.folder, ignore_errors=True)
        self._trees()
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(self.folder), *command],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode == 77:
            pytest.skip(f"no mount namespace for a /proc of our own: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, query: str) -> list[dict[str, object]]:
        """The rows of a query on the import of the same files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        stream = b""
        moments = [self.before, *self.between, self.after]
        for number, moment in enumerate(moments):
            # The intervals are of different lengths.
            clock = round((number / (len(moments) - 1)) ** 2 * self.interval_s * 1e9)
            stream += b"S %d 1 %d\n" % (clock, number)
            files = moment.all_files(0)
            for path, text in files.items():
                stream += b"F %d %d %s\n%s\n" % (clock, len(text), path.encode(), text.encode())
            stream += b"Z %d %d %d 1\n" % (clock, number, len(files))
        (self.folder / "snapshots").write_bytes(stream)
        case = store.open_case(self.folder / "snapshots")
        with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
            result = connection.execute(query)
            names = [column[0] for column in result.description]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def table(text: str, first: str, *, last: bool = True) -> dict[str, dict[str, float]]:
    """The rows below the (last) head line whose words include ``first``: row name to column to figure."""
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if first in line.split()]
    start = heads[-1 if last else 0]
    names = lines[start].split()
    rows = {}
    for line in lines[start + 1 :]:
        if not line.strip():
            break
        words = line.split()
        rows[words[0]] = dict(zip(names[1:], words[1:], strict=True))
    return rows

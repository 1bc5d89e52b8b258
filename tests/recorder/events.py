"""Runs `perfcase-helper events` on processes of our own, and reads the records of a perf.data with nothing of perfcase's reader."""

from __future__ import annotations

import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.recorder.support import helper

MMAP, LOST, COMM, EXIT, FORK, SAMPLE, MMAP2 = 1, 2, 3, 4, 7, 9, 10
KERNEL = 0xFFFFFFFF
"""The pid of the kernel's mappings."""
SCHEDULER = ("sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup_new")
TRAILER_BYTES = 32
"""What each record but a sample ends in: pid and tid, time, CPU, number of the event."""


@dataclass
class Record:
    kind: int
    body: bytes
    is_whole: bool = True

    @property
    def pid(self) -> int:
        # A sample begins with the number of its event and the address.
        return struct.unpack_from("<I", self.body, 16 if self.kind == SAMPLE else 0)[0]

    @property
    def tid(self) -> int:
        at = {SAMPLE: 20, FORK: 8, EXIT: 8}.get(self.kind, 4)
        return struct.unpack_from("<I", self.body, at)[0]

    @property
    def time_ns(self) -> int:
        at = 24 if self.kind == SAMPLE else len(self.body) - TRAILER_BYTES + 8
        return struct.unpack_from("<Q", self.body, at)[0]

    @property
    def name(self) -> bytes:
        """The name in a COMM, the path in an MMAP2."""
        at = {COMM: 8, MMAP2: 64}[self.kind]
        return self.body[at : len(self.body) - TRAILER_BYTES].split(b"\0")[0]


def records(path: Path) -> list[Record]:
    """All records of a perf.data of this machine, which is whole."""
    data = path.read_bytes()
    assert data[:8] == b"PERFILE2"
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    assert size
    assert end <= len(data)
    found = []
    while at < end:
        kind, _misc, length = struct.unpack_from("<IHH", data, at)
        assert length >= 8
        assert at + length <= end
        found.append(Record(kind, data[at + 8 : at + length]))
        at += length
    return found


def thread_names(path: Path) -> dict[int, bytes]:
    """The last name of each thread that the file knows."""
    return {record.tid: record.name for record in records(path) if record.kind == COMM}


def arguments(
    folder: Path, kind: str, scope: str, size: int, events: tuple[str, ...], sampler: str, stacks: str = "fp"
) -> list[str]:
    (folder / "events").write_text("".join(f"{event}\n" for event in events))
    place = [] if kind == "try" else [str(folder / "perf.data")]
    ready = [] if kind == "try" else [str(folder / "ready")]
    return [str(helper()), "events", kind, *place, scope, str(size), sampler, stacks, str(folder / "events"), *ready]


def attempt(folder: Path, scope: str, *events: str, sampler: str = "cpu-clock") -> subprocess.CompletedProcess[str]:
    """Whether it would record."""
    words = arguments(folder, "try", scope, 128, events, sampler)
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def wait_for(file: Path, text: str, process: subprocess.Popen) -> None:
    end = time.monotonic() + 30
    while not file.exists() or text not in file.read_text():
        assert process.poll() is None, process.returncode
        assert time.monotonic() < end, f"{file} never said {text}"
        time.sleep(0.01)


@contextmanager
def recording(
    folder: Path,
    scope: str | int,
    *events: str,
    kind: str = "stream",
    size: int = 1024,
    sampler: str = "cpu-clock",
    stacks: str = "fp",
    status: int | None = 0,
) -> Iterator[subprocess.Popen]:
    """Records into folder/perf.data while the block runs."""
    process = subprocess.Popen(arguments(folder, kind, str(scope), size, events or SCHEDULER, sampler, stacks))
    try:
        wait_for(folder / "ready", "ready", process)
        yield process
        if status == 0:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == status
    finally:
        process.kill()
        process.wait()


@contextmanager
def held(*command: str | Path) -> Iterator[subprocess.Popen]:
    """A process that becomes the command when it is let go."""
    words = ["sh", "-c", 'read -r go && exec "$@" </dev/null', "sh", *map(str, command)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


def let_go(process: subprocess.Popen) -> None:
    process.stdin.write("go\n")
    process.stdin.flush()

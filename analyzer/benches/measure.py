"""One run of a command: how long, how much CPU time, how much memory, for the benches."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

_SAMPLE_S = 0.01


@dataclass(frozen=True)
class Run:
    """One run of a command with all its processes."""

    wall_s: float
    cpu_s: float
    resident_max_bytes: int
    """The kernel's peak of the largest process: it includes pages of mapped files."""
    anonymous_max_bytes: int
    """The peak of what is in no file, read every 10 ms."""


def measure(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> Run:
    """Run a command to its end with its output thrown away. A command that fails ends the bench."""
    begin = monotonic()
    child = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    peak = [0]
    ended = threading.Event()
    sampler = threading.Thread(target=_sample, args=(child.pid, peak, ended))
    sampler.start()
    assert child.stderr is not None
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall_s = monotonic() - begin
    ended.set()
    sampler.join()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {child.returncode}\n{error.decode(errors='replace')[-2000:]}")
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, peak[0])


def _sample(pid: int, peak: list[int], ended: threading.Event) -> None:
    while not ended.wait(_SAMPLE_S):
        peak[0] = max(peak[0], _anonymous(pid))


def _anonymous(pid: int) -> int:
    """Return the anonymous memory of a process and its children, in bytes; 0 for one that is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    own = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")), 0)
    return own * 1024 + sum(_anonymous(int(child)) for child in children)

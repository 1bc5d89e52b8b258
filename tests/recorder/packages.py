"""What `make recorder` builds: the recorder in one file, and its Debian packages."""

from __future__ import annotations

import subprocess
import time
from functools import cache
from pathlib import Path

from tests.recorder.support import ROOT, SHELLS, environment


@cache
def built() -> Path:
    """The folder with what `make recorder` built, now."""
    subprocess.run([ROOT / "scripts" / "recorder.sh"], check=True, capture_output=True, text=True, timeout=300)
    return ROOT / "recorder" / "build" / "dist"


def one_file() -> Path:
    return built() / "perfcase-record"


def unpacking(shell: str, *options: str | Path, file: Path | None = None, **changes: str) -> subprocess.Popen[str]:
    """The one file at work, in a process group of its own."""
    return subprocess.Popen(
        [*SHELLS[shell], str(file or one_file()), *map(str, options)],
        env=environment(**changes), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def run_one_file(
    shell: str, *options: str | Path, file: Path | None = None, **changes: str
) -> subprocess.CompletedProcess[str]:
    process = unpacking(shell, *options, file=file, **changes)
    said, warned = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, said, warned)


def what_stays(folder: Path) -> list[str]:
    """What a folder holds in the end: what was unpacked goes a moment after the recorder ended."""
    end = time.monotonic() + 10
    while (names := sorted(path.name for path in folder.iterdir())) and time.monotonic() < end:
        time.sleep(0.02)
    return names

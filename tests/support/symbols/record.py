"""Builds the workloads, records them with perf and asks perf at once, on the same machine, what the frames are called."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from pathlib import Path

from tests.support.symbols.table_elf import Elf

SYMBOLS = Path(__file__).parents[2] / "data" / "symbols"
FIELDS = "comm,tid,time,ip,sym,symoff,dso"
FRAME_POINTERS = ("-g",)
DWARF = ("--call-graph", "dwarf,8192")


def build(folder: Path, *languages: str) -> None:
    """The programs of tests/data/symbols/src."""
    subprocess.run([SYMBOLS / "build.sh", folder, *languages], check=True, capture_output=True)


def perf_record(path: Path, command: list[str], frequency: int = 199, options: tuple[str, ...] = FRAME_POINTERS) -> str:
    """Records the command and its children; what perf said on standard error."""
    # -N: build ids are noted, ~/.debug is left alone.
    words = ["perf", "record", "-q", "-N", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F", str(frequency)]
    done = subprocess.run([*words, *options, "-o", path, "--", *command], capture_output=True, text=True)
    if not path.exists() or path.stat().st_size == 0:
        raise RuntimeError(f"perf record: {done.stderr[-500:]}")
    return done.stderr


def perf_script(path: Path, *options: str, fields: str = FIELDS) -> str:
    """What perf says of every sample, with the binaries, debug files, perf maps and kallsyms of this machine.

    Without the user's settings, and with no more than the files themselves: of all that perf may keep by build id only
    the vDSO, which is no file and which perf neither names nor unwinds from anywhere else.
    """
    with tempfile.TemporaryDirectory(prefix="oracle-home-") as home:
        kept = Path(home) / ".build-id" / vdso_build_id()[:2] / vdso_build_id()[2:]
        kept.mkdir(parents=True)
        (kept / "vdso").write_bytes(vdso())
        command = ["perf", "--no-pager", "--buildid-dir", home, "script", "--ns", "-F", fields, *options, "-i", path]
        environment = {**os.environ, "HOME": home, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"perf script: {done.stderr[-500:]}")
    return done.stdout


def inject_jit(path: Path) -> Path:
    """The recording with what a jitdump file says of the code that runs, as perf puts it in."""
    injected = path.with_suffix(".injected")
    subprocess.run(["perf", "inject", "--jit", "-i", path, "-o", injected], check=True, capture_output=True)
    return injected


@functools.cache
def vdso() -> bytes:
    """The image that the kernel maps into this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith("[vdso]"):
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            with Path("/proc/self/mem").open("rb") as memory:
                memory.seek(start)
                return memory.read(end - start)
    raise RuntimeError("no [vdso] in /proc/self/maps")


@functools.cache
def vdso_build_id() -> str:
    """That of the running kernel."""
    return Elf(vdso()).build_id() or ""

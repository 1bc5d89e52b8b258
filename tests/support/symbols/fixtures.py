"""Writes the stored captures of tests/data/symbols: `python -m tests.support.symbols.fixtures [NAME...]`, as root, on a
machine with perf, gcc, g++, rustc and, for theirs, go, java 17, node 20, python 3.12 ($PYTHON312).

Each is a .perfcase with the tables of the objects it uses, cut down to the symbols near the addresses that occur, beside
what perf said on the machine that recorded it, at once.
"""

from __future__ import annotations

import lzma
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.symbols import record
from tests.support.symbols.bundle import bundle
from tests.support.symbols.record import DWARF, FRAME_POINTERS, SYMBOLS

SOURCES = SYMBOLS / "src"


@dataclass(frozen=True)
class Fixture:
    """A capture: the command's words with {bin} and {src}, and how it is recorded."""

    name: str
    command: str
    frequency: int = 199
    options: tuple[str, ...] = FRAME_POINTERS
    build: str = "c"
    full: bool = False


FIXTURES = [
    Fixture("c", "{bin}/c 500"),
    Fixture("ends", "{bin}/ends 300"),
    Fixture("ends-dwarf", "{bin}/ends-dwarf 300", 99, DWARF),
    Fixture("cxx", "{bin}/cxx 500", build="cxx"),
    Fixture("rust", "{bin}/rust-v0 1500", build="rust"),
    Fixture("go", "{bin}/go 600", build="go"),
    Fixture(
        "java",
        "java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp {bin} Names 2500",
        build="java",
    ),
    Fixture("node", "node --perf-basic-prof {src}/names.js 900"),
    # This interpreter keeps no frame pointers, as is usual; from libpython .eh_frame leads to the trampoline.
    Fixture("python", "{python} -X perf {src}/names.py 700", 199, ("--call-graph", "dwarf,4096")),
    # perf names generated code only after `perf inject --jit`; what is stored is the recording before it.
    Fixture("jit", "{bin}/jit 600 {bin}", build="jit"),
    Fixture("c-dwarf", "{bin}/c-dwarf 1500", 99, DWARF),
    Fixture("cxx-dwarf", "{bin}/cxx-dwarf 1500", 99, DWARF, build="cxx"),
    Fixture("rust-dwarf", "{bin}/rust-dwarf 1500", 99, DWARF, build="rust"),
    # perf 6.1 lists inlined functions only where it unwound by DWARF.
    Fixture("cxx-inlined", "{bin}/cxx-dwarf 1500", 99, DWARF, build="cxx", full=True),
]


def write(fixture: Fixture, folder: Path) -> None:
    """Records and stores one."""
    built = folder / fixture.build
    record.build(built, fixture.build)
    path = folder / f"{fixture.name}.data"
    python = os.environ.get("PYTHON312") or shutil.which("python3.12") or "python3.12"
    words = [word.format(bin=built, src=folder / "src", python=python) for word in fixture.command.split()]
    record.perf_record(path, words, fixture.frequency, fixture.options)
    jitdump = next(iter(sorted(built.glob("jit-*.dump"), key=os.path.getmtime, reverse=True)), None)
    asked = path if jitdump is None else record.inject_jit(path)
    script = record.perf_script(asked, "--inline" if fixture.full else "--no-inline")
    unwinding = fixture.options != FRAME_POINTERS
    made = bundle(path.read_bytes(), script, prune=True, full=fixture.full, unwinding=unwinding, jitdump=jitdump)
    store(fixture.name, made, script)


def store(name: str, made: bytes, script: str) -> None:
    """Writes the two files of a capture."""
    (SYMBOLS / f"{name}.perfcase").write_bytes(made)
    text = lzma.compress(script.encode(), preset=9 | lzma.PRESET_EXTREME)
    (SYMBOLS / f"{name}.script.txt.xz").write_bytes(text)
    print(f"{name}: {len(made)} and {len(text)} bytes", file=sys.stderr)


def store_foreign(name: str, folder: Path) -> None:
    """Stores what aarch64.sh left in ``folder``: out/NAME.data, out/NAME.txt, out/kallsyms, out/vdso, and its machine's
    tree, root."""
    out = folder / "out"
    data, script = (out / f"{name}.data").read_bytes(), (out / f"{name}.txt").read_text()
    made = bundle(data, script, prune=True, unwinding="dwarf" in name, root=folder / "root",
                  kallsyms=out / "kallsyms", vdso_file=out / "vdso", machine="aarch64")  # fmt: skip
    store(f"{name}-aarch64", made, script)


def main() -> None:
    """Those named in the arguments, or all; `--aarch64 FOLDER`: what the guest recorded."""
    if sys.argv[1:2] == ["--aarch64"]:
        for name in ("c", "c-dwarf"):
            store_foreign(name, Path(sys.argv[2]))
        return
    # A fixed folder: the paths in the captures are then not those of who recorded them.
    folder = Path(tempfile.gettempdir()) / "perfcase-symbols"
    shutil.copytree(SOURCES, folder / "src", dirs_exist_ok=True)
    os.chdir(folder)  # node leaves a log where it runs
    # Copies of stacks hold the environment.
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHON312")}
    os.environ.clear()
    os.environ.update(kept)
    for fixture in FIXTURES:
        if not sys.argv[1:] or fixture.name in sys.argv[1:]:
            write(fixture, folder)


if __name__ == "__main__":
    main()

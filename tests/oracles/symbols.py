"""Captures with symbols: stored ones of tests/data/symbols, and ones that the tests build and record themselves.

Both are a .perfcase and what `perf script` said, on the machine that recorded, of every frame.
"""

from __future__ import annotations

import functools
import gzip
import io
import lzma
import shutil
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from perfcase.case import store
from tests.oracles.tools import named_script
from tests.oracles.tools.named_script import Named
from tests.support.symbols import record
from tests.support.symbols.bundle import bundle
from tests.support.symbols.record import SYMBOLS
from tests.support.symbols.table_elf import SHT_DYNSYM, SHT_SYMTAB, SYMBOL, Elf

Key = tuple[int, int]
KERNEL = "[kernel.kallsyms]"


@dataclass(frozen=True)
class Stored:
    """A capture of tests/data/symbols."""

    name: str

    @property
    def id(self) -> str:
        """How tests name it."""
        return self.name

    def archive(self) -> bytes:
        """The .perfcase."""
        return (SYMBOLS / f"{self.name}.perfcase").read_bytes()

    def script(self) -> str:
        """What perf said."""
        return lzma.decompress((SYMBOLS / f"{self.name}.script.txt.xz").read_bytes()).decode()


@dataclass(frozen=True)
class Recorded:
    """A capture that is recorded when it is first asked for; ``stored`` takes its place where perf may not record."""

    program: str
    language: str
    stored: str

    @property
    def id(self) -> str:
        """How tests name it."""
        return f"live/{self.program}"

    def archive(self) -> bytes:
        """The .perfcase."""
        return _recorded(self)[0]

    def script(self) -> str:
        """What perf said."""
        return _recorded(self)[1]


@functools.cache
def may_record() -> bool:
    """Whether perf records here and the compilers are there."""
    if not all(shutil.which(tool) for tool in ("perf", "gcc", "g++", "rustc", "strip", "objcopy")):
        return False
    with tempfile.TemporaryDirectory() as folder:
        try:
            record.perf_record(Path(folder) / "x.data", ["true"])
        except RuntimeError:
            return False
    return True


@functools.cache
def programs(language: str) -> Path:
    """The folder with the workloads of a language, built once."""
    folder = Path(_folder().name) / language
    record.build(folder, language)
    return folder


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="oracle-symbols-")


@functools.cache
def _recorded(capture: Recorded) -> tuple[bytes, str]:
    if not may_record():
        stored = Stored(capture.stored)
        return stored.archive(), stored.script()
    built = programs(capture.language)
    path = built / f"{capture.program}.data"
    record.perf_record(path, [str(built / capture.program), "300", str(built)])
    jitdump = next(built.glob("jit-*.dump"), None)
    asked = path if jitdump is None else record.inject_jit(path)
    script = record.perf_script(asked, "--no-inline")
    made = bundle(path.read_bytes(), script, prune=False, jitdump=jitdump)
    return made, script


STORED = [Stored(name) for name in ("c", "cxx", "rust", "go", "java", "node", "jit", "ends", "c-aarch64")]
LIVE = [
    *(Recorded(name, "c", "c") for name in ("c", "c-nopie", "c-static", "c-static-pie", "c-segments", "c-prelinked")),
    *(Recorded(name, "c", "c") for name in ("c-stripped", "c-minidebug")),
    Recorded("cxx", "cxx", "cxx"),
    Recorded("rust-legacy", "rust", "rust"),
    Recorded("rust-v0", "rust", "rust"),
    Recorded("jit", "jit", "jit"),
]
STORED_DWARF = [
    Stored(name) for name in ("c-dwarf", "cxx-dwarf", "rust-dwarf", "ends-dwarf", "python", "c-dwarf-aarch64")
]
# The program whole: its DWARF tells inlined functions.
STORED_INLINED = [Stored("cxx-inlined")]
Capture = Stored | Recorded


@dataclass(frozen=True)
class Ours:
    """A frame as perfcase has it."""

    address: int
    name: str | None
    offset: int | None
    dso: str | None
    is_kernel: bool
    is_inlined: bool
    reason: str | None
    source: str | None


STACKS = """
WITH chain AS (
    SELECT e.stack_id, list(e.frame_id ORDER BY e.position) AS frame_ids FROM stack_entry AS e GROUP BY e.stack_id
), entry AS (
    SELECT s.sample_id, s.ts_ns + c.start_clock_ns AS time_ns, t.tid,
        unnest(coalesce(n.frame_ids, [s.frame_id])) AS frame_id,
        generate_subscripts(coalesce(n.frame_ids, [s.frame_id]), 1) AS position
    FROM capture AS c, sample AS s LEFT JOIN thread AS t USING (utid) LEFT JOIN chain AS n USING (stack_id)
)
SELECT e.sample_id, e.time_ns, coalesce(e.tid, -1), f.address, f.symbol, f.symbol_offset_bytes, d.path, f.is_kernel,
    f.is_inlined, f.missing_reason, f.symbol_source
FROM entry AS e JOIN frame AS f USING (frame_id) LEFT JOIN dso AS d USING (dso_id)
ORDER BY e.sample_id, e.position
"""


def import_case(archive: bytes, folder: Path) -> Path:
    """Imports into a new folder; the case's folder."""
    folder.mkdir(parents=True)
    path = folder / "x.perfcase"
    path.write_bytes(archive)
    return store.open_case(path, folder / "x.case").folder


def our_stacks(case: Path) -> dict[Key, list[tuple[Ours, ...]]]:
    """Time and thread to the stacks of the samples then, leaf first."""
    with duckdb.connect(str(case / "case.duckdb"), read_only=True) as connection:
        rows = connection.execute(STACKS).fetchall()
    samples: dict[int, list[Ours]] = defaultdict(list)
    keys: dict[int, Key] = {}
    for number, time_ns, tid, *columns in rows:
        keys[number] = time_ns, tid
        samples[number].append(Ours(*columns))
    found: dict[Key, list[tuple[Ours, ...]]] = defaultdict(list)
    for number, stack in samples.items():
        found[keys[number]].append(tuple(stack))
    return dict(found)


def their_stacks(capture: Capture) -> dict[Key, list[tuple[Named, ...]]]:
    """What perf said."""
    return named_script.stacks(capture.script())


class Tables:
    """The symbol tables of a capture: which names the object gives to one address."""

    def __init__(self, listing: bytes, read: Callable[[str], bytes]) -> None:
        self._kernel = read("host/kallsyms")
        self._elfs: dict[str, list[Elf]] = defaultdict(list)
        rows = [line.split("\t") for line in listing.decode().splitlines()[1:]]
        debug = {row[2]: Elf(read(f"symbols/{row[0]}")) for row in rows if row[1] == "debug-table" and row[0] != "-"}
        for member, kind, build_id, path, *_ in rows:
            if kind in ("elf", "elf-table") and member != "-" and path not in self._elfs:
                self._elfs[path].append(Elf(read(f"symbols/{member}")))
                self._elfs[path] += [debug[build_id]] if build_id in debug else []

    @classmethod
    def of(cls, archive: bytes) -> Tables:
        """Those of an archive that bundle() made."""
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            members = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
        read = lambda name: gzip.decompress(members.get(f"{name}.gz", gzip.compress(b"")))  # noqa: E731
        return cls(read("symbols/objects.tsv"), read)

    def has(self, path: str) -> bool:
        """Whether the capture brings the object."""
        return path in self._elfs

    @functools.cache  # noqa: B019  lives as long as a test
    def names(self, path: str) -> dict[int, set[str]]:
        """Address within the object to all names that start there."""
        found: dict[int, set[str]] = defaultdict(set)
        if path == KERNEL:
            for address, _, name in (line.split()[:3] for line in self._kernel.decode().splitlines()):
                found[int(address, 16)].add(name)
        for elf, section in ((each, part) for each in self._elfs.get(path, ()) for part in each.sections):
            if section.kind in (SHT_SYMTAB, SHT_DYNSYM):
                strings = elf.sections[section.fields[6]].data
                for row in SYMBOL.iter_unpack(section.data):
                    name = strings[row[0] : strings.index(b"\0", row[0])].decode()
                    if name:
                        found[row[4]].add(name.partition("@")[0])
        return dict(found)

    def address(self, path: str, place: int) -> int | None:
        """The address that the object asks for, for a place of its file."""
        if path == KERNEL:
            return place
        elfs = self._elfs.get(path)
        return elfs[0].address_of(place) if elfs else None

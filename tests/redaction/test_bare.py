"""Files that perf and trace-cmd wrote, redacted: they become archives. What is compressed inside, or a stream, is no obstacle."""

from __future__ import annotations

import json
import lzma
import random
import re
import struct
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from perfcase.case.store import import_core
from perfcase.errors import PerfcaseError
from perfcase.redaction.pseudonyms import Pseudonyms
from tests.support.cli import fail, perfcase
from tests.support.redacted import differences
from tests.support.scale import scaled
from tests.support.unpacked import unpacked

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
SECRET = "grep-for-acme-invoice"
LOOP = 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; : "$0"'
NAMES = {
    "capture", "data_quality", "descriptor", "dso", "frame", "function_profile", "import_issue", "off_cpu_by_thread", "process_command",
    "sample", "sched_process_exec", "source", "stack_entry", "symbol_object", "syscall", "thread", "thread_name", "thread_state", "thread_time",
}  # fmt: skip

OF_ARCHIVE = {("capture", "format_version"), ("source", "member"), ("source", "size_bytes"), ("import_issue", "source")}
"""What a file has not, or what it has by another name."""


def _kept(name: str) -> Callable[[Path], Path]:
    def place(folder: Path) -> Path:
        file = folder / ("x.dat" if ".dat" in name else "x.data")
        file.write_bytes(lzma.decompress((CAPTURES / name).read_bytes()))
        return file

    return place


def _recorded(*options: str) -> Callable[[Path], Path]:
    def record(folder: Path) -> Path:
        file = folder / "x.data"
        with file.open("wb") as out:
            command = ["perf", "record", "-q", "-e", "cpu-clock", *options, "--", "sh", "-c", LOOP, SECRET]
            subprocess.run(command, stdout=out, check=True, cwd=folder)
        return file

    return record


def _stream(name: str) -> Callable[[Path], Path]:
    """A recording as ``perf record -o -`` writes it."""

    def inject(folder: Path) -> Path:
        file = _kept(name)(folder)
        made = subprocess.run(["perf", "inject", "-i", file, "-o", "-"], stdout=subprocess.PIPE, check=True).stdout
        file.write_bytes(made)
        return file

    return inject


FILES = {
    "file": _kept("x86_64/calls.data.xz"),
    "stream": _stream("x86_64/hw-cycles.data.xz"),
    "compressed": _kept("x86_64/profile-z.data.xz"),
    "compressed stacks": _recorded("-z", "--call-graph", "dwarf", "-o", "x.data"),
    "compressed stream": _recorded("-z", "-g", "-o", "-"),
    "trace.dat": _kept("aarch64/trace-v6.dat.xz"),
    "compressed trace.dat": _kept("x86_64/trace-v7-zstd.dat.xz"),
}


def _member(archive: Path) -> bytes:
    found = dict(unpacked("out", archive.read_bytes()))
    return next(
        found[name]
        for name in found
        if "!" in name and "manifest" not in name and found[name][:4] != b"\x28\xb5\x2f\xfd"
    )


@pytest.mark.parametrize("made", FILES.values(), ids=FILES)
def test_answers_are_the_same(made: Callable[[Path], Path], tmp_path: Path) -> None:
    file, out, key = made(tmp_path), tmp_path / "out.perfcase", tmp_path / "out.perfcase.key"
    host = json.loads(perfcase("sql", file, "SELECT hostname FROM capture", "--format", "json").stdout)[0]["hostname"]
    done = perfcase("redact", file, "-o", out)
    assert done.returncode == 0, done.stderr
    assert differences(file, out, key, NAMES, OF_ARCHIVE) == []
    assert Pseudonyms.read(key).values
    for name, data in unpacked("out", out.read_bytes()):
        # "guest" is a word, and also in names of the kernel.
        for value in {host.encode(), SECRET.encode()} - {b"guest", b"vm"}:
            assert value not in data, (name, value)


def _with_auxtrace(data: bytes) -> bytes:
    """A trace of a processor behind the records: an info, and 64 bytes of packets."""
    size_at = struct.unpack_from("<QQ", data, 40)
    end = sum(size_at)
    more = struct.pack("<IHHIIQ", 70, 0, 24, 1, 0, KERNEL) + struct.pack("<IHHQQQIIII", 71, 0, 48, 64, 0, 0, 0, 1, 0, 0)
    more += struct.pack("<Q", KERNEL) * 8
    shift = len(more)
    features = [bit for bit in range(256) if data[72 + bit // 8] >> bit % 8 & 1]
    table = b"".join(
        struct.pack("<QQ", at + shift, size)
        for at, size in struct.iter_unpack("<QQ", data[end : end + 16 * len(features)])
    )
    made = bytearray(data[:end] + more + table + data[end + len(table) :])
    struct.pack_into("<Q", made, 48, size_at[1] + shift)
    return bytes(made)


KERNEL = 0xFFFF_FFFF_81AB_CDEF


def test_a_trace_of_the_processor_is_removed(tmp_path: Path) -> None:
    file, out = tmp_path / "x.data", tmp_path / "out.perfcase"
    file.write_bytes(_with_auxtrace(lzma.decompress((CAPTURES / "x86_64/hw-cycles.data.xz").read_bytes())))
    assert file.read_bytes().count(struct.pack("<Q", KERNEL)) == 9
    assert "removed: 2 parts without a format" in perfcase("redact", file, "-o", out).stderr
    data = _member(out)
    assert struct.pack("<Q", KERNEL) not in data
    assert differences(file, out, tmp_path / "out.perfcase.key", NAMES, OF_ARCHIVE) == []


def test_programs_of_bpf_are_removed(tmp_path: Path) -> None:
    """perf saves them in a section of its own, with addresses of the kernel: those of a redacted file were there once."""
    file, out = _kept("x86_64/hw-cycles.data.xz")(tmp_path), tmp_path / "out.perfcase"
    data = bytearray(file.read_bytes())
    data[72 + 3] |= 1 << 1  # feature 25, of which the list must know
    start, size = struct.unpack_from("<QQ", data, 40)
    count = sum(byte.bit_count() for byte in data[72 : 72 + 4]) - 1
    before = sum(data[72 + bit // 8] >> bit % 8 & 1 for bit in range(25))
    list_at = start + size
    entries = [*struct.iter_unpack("<QQ", data[list_at : list_at + 16 * count])]
    programs = struct.pack("<II", 1, 0) + struct.pack("<Q", KERNEL) * 4
    moved = [(at + 16, length) for at, length in entries]
    moved.insert(before, (len(data) + 16, len(programs)))
    table = b"".join(struct.pack("<QQ", *each) for each in moved)
    file.write_bytes(bytes(data[:list_at]) + table + bytes(data[list_at + 16 * count :]) + programs)
    assert perfcase("redact", file, "-o", out).returncode == 0
    made = _member(out)
    assert struct.pack("<Q", KERNEL) not in made
    assert b"\x00" * len(programs) in made[-64:]


@pytest.mark.parametrize("name", ["x86_64/profile-z.data.xz", "x86_64/trace-v7-zstd.dat.xz"])
def test_damaged_files_are_refused(name: str, tmp_path: Path) -> None:
    file, out = _kept(name)(tmp_path), tmp_path / "out.perfcase"
    data = bytearray(file.read_bytes())
    # Within the records of the one, and the pages of the other.
    middle = len(data) // 2 if name.endswith(".dat.xz") else 4096
    data[middle : middle + 64] = b"\xff" * 64
    file.write_bytes(data)
    assert re.search("damage|record", fail(3, "redact", file, "-o", out))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(("out", "."))]


def test_trace_cmd_reads_what_was_compressed(tmp_path: Path) -> None:
    """What it prints is the same but for the numbers that stand for the kernel's addresses."""
    file, out = _kept("x86_64/trace-v7-zstd.dat.xz")(tmp_path), tmp_path / "out.perfcase"
    assert perfcase("redact", file, "-o", out).returncode == 0
    made = tmp_path / "made.dat"
    made.write_bytes(_member(out))
    texts = [_report(path) for path in (file, made)]
    assert len(texts[0].splitlines()) > 1000
    assert texts[0] == texts[1]


def _report(file: Path) -> str:
    done = subprocess.run(["trace-cmd", "report", "-R", "-i", file], capture_output=True, text=True, check=True)
    return re.sub(r"\b(?:0x)?ffff[0-9a-f]{12}\b|(?:[0-9a-f]{2}, ){6}ff, ff", "…", done.stdout)


@pytest.mark.parametrize("name", ["x86_64/profile-z.data.xz", "x86_64/trace-v7-zstd.dat.xz"])
def test_mutated_files_are_written_whole_or_not_at_all(name: str, tmp_path: Path) -> None:
    chance, outcomes = random.Random(1), Counter[str]()
    original = _kept(name)(tmp_path).read_bytes()
    file = tmp_path / "mutated"
    for _ in range(scaled(600)):
        data = bytearray(original)
        for _ in range(chance.randint(1, 4)):
            # Most of the sizes are near both ends.
            at = chance.choice(
                (chance.randrange(min(600, len(data))), chance.randrange(len(data)), -chance.randint(1, 600))
            )
            data[at] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
        file.write_bytes(data[: chance.choice((len(data), len(data), chance.randrange(len(data))))])
        before = file.read_bytes()
        try:
            is_written = import_core().decompress_events(str(tmp_path), "mutated")
        except PerfcaseError as error:
            outcomes[error.kind] += 1
            is_written = False
        outcomes["written"] += is_written
        assert is_written or file.read_bytes() == before
        assert file.stat().st_size < 300 << 20
    assert set(outcomes) == {"input", "written"}
    assert min(outcomes.values()) > 3
    assert {path.name for path in tmp_path.iterdir()} <= {"mutated", "x.data", "x.dat"}


@pytest.mark.parametrize("name", ["perf", "perf.data", "manifest.json", "a\nb; $(x)*.data"])
def test_a_file_may_have_any_name(name: str, tmp_path: Path) -> None:
    (folder := tmp_path / "of it").mkdir()
    file = _kept("x86_64/profile-z.data.xz")(tmp_path).rename(folder / name)
    assert perfcase("redact", file, "-o", tmp_path / "out.perfcase").returncode == 0
    assert _member(tmp_path / "out.perfcase").startswith(b"PERFILE2")

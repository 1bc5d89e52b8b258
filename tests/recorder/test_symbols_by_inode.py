"""Files that no build id tells: the recorder takes one for a mapped one only by the inode that perf noted of the mapping."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest

from tests.recorder.support import helper
from tests.recorder.test_symbols import PROGRAM, build_id, program_bytes, record, row_of

GENERATION = 0x80087601  # FS_IOC_GETVERSION of linux/fs.h


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "a program"
    path.write_bytes(program_bytes())
    return path


def perf_data(path: Path, *files: tuple[Path | str, int, int]) -> bytes:
    """A perf.data with executable mappings of files (path, inode, generation), of a process that ended, without build ids."""
    records = b""
    for number, (mapped, inode, generation) in enumerate(files):
        name = os.fsencode(str(mapped)) + b"\0"
        name += bytes(-len(name) % 8)
        start = 0x5000_0000 + number * 0x1000
        words = (4_194_000, 4_194_000, start, 0x1000, 0, 8, 1, inode, generation, 5, 2)
        body = struct.pack("<iiQQQIIQQII", *words) + name
        records += struct.pack("<IHH", 10, 2, len(body) + 8) + body
    path.write_bytes(b"PERFILE2" + struct.pack("<12Q", 104, 128, 104, 0, 104, len(records), 0, 0, 0, 0, 0, 0) + records)
    return path.read_bytes()


def collect(folder: Path, start_ns: int) -> tuple[list[list[str]], str]:
    """The rows of objects that are found for folder/perf.data, and what is said."""
    (folder / "out").mkdir()
    words = ["symbols", "collect", folder / "out", "mapped", "-", "100000000", str(start_ns), folder / "perf.data"]
    done = subprocess.run([helper(), *words], capture_output=True, text=True, check=True, timeout=60)
    lines = (folder / "out" / "objects.tsv").read_text().splitlines()[1:]
    return [line.split("\t") for line in lines if "\tvdso\t" not in line], done.stderr


def found(folder: Path, start_ns: int) -> list[tuple[str, str]]:
    """Member and reason of what is found for folder/perf.data."""
    rows, _ = collect(folder, start_ns)
    shutil.rmtree(folder / "out")
    return [(member, reason) for member, *_, reason in rows]


def test_a_file_at_the_path_of_a_deleted_program_is_not_taken_for_it(program: Path, tmp_path: Path) -> None:
    """It was there before the recording, and perf did not learn the build id of what had been mapped."""
    later_ns, inode = time.time_ns() + 10**10, program.stat().st_ino
    perf_data(tmp_path / "perf.data", (f"{program} (deleted)", inode, 0))
    assert found(tmp_path, later_ns) == [("-", "deleted and unreadable")]
    perf_data(tmp_path / "perf.data", (program, inode, 0))
    assert found(tmp_path, later_ns) == [(f"elf/{build_id(program)}", "-")], (
        "unchanged since, it is the one that was mapped"
    )


def test_a_file_is_told_from_another_by_its_inode(program: Path, tmp_path: Path) -> None:
    own, member, (earlier_ns, later_ns) = (
        program.stat().st_ino,
        f"elf/{build_id(program)}",
        (0, time.time_ns() + 10**10),
    )
    perf_data(tmp_path / "perf.data", (program, own + 1, 0))
    assert found(tmp_path, later_ns) == [("-", "another file is at its path")]
    # A process that ran before the recording has no generation, and the file changed since.
    perf_data(tmp_path / "perf.data", (program, own, 0))
    assert found(tmp_path, earlier_ns) == [("-", "changed since it was mapped, and without a build id to compare")]
    with program.open("rb") as file:
        try:
            generation = struct.unpack("<i4x", fcntl.ioctl(file, GENERATION, bytes(8)))[0] & 0xFFFF_FFFF
        except OSError:  # a file system that does not use an inode again (tmpfs)
            generation = 0
    perf_data(tmp_path / "perf.data", (program, own, generation or 1))
    assert found(tmp_path, earlier_ns) == [(member, "-")]
    # The next file often gets the inode of the one that was deleted.
    perf_data(tmp_path / "perf.data", (program, own, generation ^ 1))
    assert found(tmp_path, earlier_ns) == [("-", "another file is at its path") if generation else (member, "-")]
    perf_data(tmp_path / "perf.data", (program, own, 7), (program, own, 8), ("/absent", own, 7))
    absent = ("-", "no such file when the recording ended")
    assert found(tmp_path, later_ns) == [absent, ("-", "several files had this path")]
    perf_data(tmp_path / "perf.data", (program, own, 0), (program, own, generation))
    assert found(tmp_path, later_ns) == [(member, "-")], "the same file, known in two ways"


def test_a_program_without_build_id_that_was_replaced(tmp_path: Path) -> None:
    """Its inode is free, and the file that comes next may have it."""
    program = tmp_path / "plain"
    compile_ = ["gcc", "-O1", "-w", "-Wl,--build-id=none", "-xc", "-"]
    subprocess.run([*compile_, "-o", program], input=PROGRAM.encode(), check=True)
    size = program.stat().st_size
    subprocess.run([*compile_, "-o", tmp_path / "other"], input=b"int main() {}", check=True)
    capture = record(tmp_path, "sh", "-c", '"$0" 0.03; rm "$0"; cp "$1" "$0"', program, tmp_path / "other")
    row = row_of(capture, program)
    # Where it was still running when the recorder looked, it was taken from its mapping.
    assert row.reason == "another file is at its path" or row.original_bytes == str(size), row


def test_a_perf_data_that_is_cut_is_said(program: Path, tmp_path: Path) -> None:
    whole = perf_data(tmp_path / "perf.data", (program, program.stat().st_ino, 0))
    assert "cut" not in collect(tmp_path, time.time_ns() + 10**10)[1]
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "perf.data").write_bytes(whole[:-8])
    assert "it is cut or damaged: what was mapped later is not known" in collect(tmp_path, 0)[1]

"""Functions of kernel modules without the kernel's own list: from the module's file, which the user gives. Written by hand,
as the kernel lays a module out: its file is relocatable, and what is recorded is the address of its first section of code."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_code_over_time import BUILD_ID, KERNEL, MMAP2, perf_data, record, sample, text
from tests.cli.test_code_over_time import named as names

PATH = "/lib/modules/6.1.0/kernel/fs/some-fs.ko"
ID = bytes([0xA7] * 20)
START = 0xFFFF_FFFF_C030_0000
SOURCE = """
__attribute__((section(".init.text"))) int at_start(void) { return 1; }
int read_it(int x) { return x + 1; }
static int helper(int x) { return x * 3; }
int write_it(int x) { return helper(x) + helper(x + 1); }
__attribute__((section(".text.unlikely"))) int fail(void) { return 2; }
"""
PACKERS = {
    "gz": ["gzip"],
    "xz": ["xz", "--check=crc32", "--lzma2=dict=1MiB"],  # as the kernel's makefile calls it
    "zst": ["zstd", "-q", "--rm"],
}
NAMES = """
    SELECT f.symbol, f.symbol_offset_bytes, f.symbol_source, f.missing_reason, d.name, d.symbols IS NOT NULL
    FROM sample JOIN frame AS f USING (frame_id) JOIN dso AS d USING (dso_id) ORDER BY sample_id
"""


def build(folder: Path, *, build_id: bytes = ID, first: str = "") -> Path:
    """A module's file below ``folder``; ``first``: a section of code before .text."""
    (folder / "x.c").write_text(SOURCE)
    flags = ["-O1", "-fno-inline", "-fcf-protection=none", "-fno-asynchronous-unwind-tables"]
    subprocess.run(["gcc", *flags, "-c", folder / "x.c", "-o", folder / "x.o"], check=True)
    script = folder / "x.lds"
    script.write_text(f"SECTIONS {{ {first} 0 : {{ *({first}) }} .text 0 : {{ *(.text) }} }}" if first else "")
    made = folder / "root" / PATH.lstrip("/")
    made.parent.mkdir(parents=True)
    words = ["-r", f"--build-id=0x{build_id.hex()}", "-o", made, folder / "x.o"]
    subprocess.run(["ld", *words, *(["-T", script] if first else [])], check=True)
    return made


def symbols(module: Path) -> dict[str, int]:
    """Functions of .text and where they are in it."""
    table = subprocess.run(["readelf", "-sW", module], check=True, capture_output=True, text=True).stdout
    sections = subprocess.run(["readelf", "-SW", module], check=True, capture_output=True, text=True).stdout
    (number,) = [line.split("]")[0].strip(" [") for line in sections.splitlines() if " .text " in line]
    words = [line.split() for line in table.splitlines() if " FUNC " in line]
    return {word[7]: int(word[1], 16) for word in words if word[6] == number}


def recording(*offsets: int, build_id: bytes = ID, path: str = PATH) -> bytes:
    head = struct.pack("<iiQQQ", -1, 0, START, 0x3000, 0) + struct.pack("<B3x20s", len(build_id), build_id)
    mapping = record(MMAP2, KERNEL | (BUILD_ID if build_id else 0), head + struct.pack("<II", 5, 2) + text(path), 0, 10)
    return perf_data(mapping, *(sample(KERNEL, START + offset, 5, time) for time, offset in enumerate(offsets, 100)))


def named(folder: Path, content: bytes, debug_dir: Path, *, is_later: bool = False) -> list[tuple]:
    return names(folder / "perf.data", content, [debug_dir], NAMES, is_later=is_later)


@pytest.mark.parametrize("is_later", [False, True], ids=["import", "symbolize"])
@pytest.mark.parametrize("form", ["plain", "build id", "debug path", "gz", "xz", "zst"])
def test_functions_of_text(form: str, is_later: bool, tmp_path: Path) -> None:
    module = build(tmp_path)
    at = symbols(module)
    assert {"read_it", "write_it", "helper"} <= at.keys()
    root, own = tmp_path / "root", PATH
    if form in PACKERS:  # as distributions install them; the recording has the file's name
        subprocess.run([*PACKERS[form], module], check=True)
        own = f"{PATH}.{form}"
        assert [file.name for file in module.parent.iterdir()] == [Path(own).name]
    elif form != "plain":  # as packages of debug information have it: sections without their bytes
        place = root / ".build-id" / ID.hex()[:2] / f"{ID.hex()[2:]}.debug"
        if form == "debug path":
            place = root / "usr/lib/debug" / PATH.lstrip("/")
        place.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", module, place], check=True)
        module.unlink()
    content = recording(at["read_it"], at["write_it"] + 1, at["helper"] + 1, 0x2000, path=own)
    told = [("read_it", 0, "symtab", None), ("write_it", 1, "symtab", None), ("helper", 1, "symtab", None)]
    rest = (None, None, None, "only .text of a module is placed")
    assert named(tmp_path, content, root, is_later=is_later) == [(*row, "[some_fs]", True) for row in [*told, rest]]


@pytest.mark.parametrize("is_later", [False, True], ids=["import", "symbolize"])
@pytest.mark.parametrize("build_id", [b"", bytes([0xA8] * 20)])
def test_a_file_that_is_not_proven_to_be_the_module_is_not_used(
    build_id: bytes, is_later: bool, tmp_path: Path
) -> None:
    build(tmp_path)
    reason = "build id mismatch" if build_id else "no kallsyms in the capture"
    content = recording(1, build_id=build_id)
    assert named(tmp_path, content, tmp_path / "root", is_later=is_later) == [
        (None, None, None, reason, "[some_fs]", False)
    ]


def test_where_text_does_not_come_first_nothing_is_guessed(tmp_path: Path) -> None:
    build(tmp_path, first=".text.unlikely")
    rows = named(tmp_path, recording(1), tmp_path / "root")
    sections = subprocess.run(
        ["readelf", "-SW", tmp_path / "root" / PATH.lstrip("/")], check=True, capture_output=True, text=True
    ).stdout
    assert sections.index(" .text.unlikely ") < sections.index(" .text "), "the case is made"
    assert rows == [(None, None, None, "only .text of a module is placed", "[some_fs]", False)]

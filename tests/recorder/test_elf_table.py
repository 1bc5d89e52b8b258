"""The recorder's ELF tables: what it keeps of an ELF file is what names addresses, and no input makes it fall over."""

from __future__ import annotations

import random
import re
import struct
import subprocess
from pathlib import Path

import pytest

from tests.recorder.support import parts
from tests.support.scale import scaled

BUILD_ID = bytes(range(20))
FORMS = {f"{bits}-{order}": (bits, order) for bits in (32, 64) for order in ("little", "big")}
PROGRAM = """
static volatile int total;
__attribute__((noinline)) static int inner(int n) { for (int i = 0; i < n; i++) total += i; return total; }
__attribute__((noinline)) int outer(int n) { return inner(n) + 1; }
int rand(void);
int main(void) { return outer(rand()) & 0; }
"""


def made_elf(bits: int, order: str, text: bytes = b"\x90" * 5000, unwind: bytes = bytes(4)) -> bytes:
    """A program with two functions, a build id and a table of unwind data, word size and byte order as asked for."""
    ends = "<" if order == "little" else ">"
    wide = bits == 64
    word = "Q" if wide else "I"
    header_bytes, segment_bytes = (64, 56) if wide else (52, 32)
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0.note.gnu.build-id\0.eh_frame\0.data\0"
    strings = b"\0first\0second\0"

    def symbol(name: bytes, value: int, size: int) -> bytes:
        at = strings.index(name)
        if wide:
            return struct.pack(ends + "IBBHQQ", at, 0x12, 0, 2, value, size)
        return struct.pack(ends + "IIIBBH", at, value, size, 0x12, 0, 2)

    empty = bytes(24 if wide else 16)
    symbols = empty + symbol(b"first", 0x401000, 16) + symbol(b"second", 0x401010, 32)
    note = struct.pack(ends + "III", 4, 20, 3) + b"GNU\0" + BUILD_ID
    # name, type, flags, address, content, link, info, alignment, entry size
    sections = [
        (".note.gnu.build-id", 7, 2, 0x400200, note, 0, 0, 4, 0),
        (".text", 1, 6, 0x401000, text, 0, 0, 16, 0),
        (".eh_frame", 1, 2, 0x408000, unwind, 0, 0, 8, 0),
        (".data", 1, 3, 0x409000, b"secret of the program" * 100, 0, 0, 8, 0),
        (".symtab", 2, 0, 0, symbols, 6, 1, 8, len(empty)),
        (".strtab", 3, 0, 0, strings, 0, 0, 1, 0),
        (".shstrtab", 3, 0, 0, names, 0, 0, 1, 0),
    ]
    body = bytearray(header_bytes + 2 * segment_bytes)
    headers = [bytes(64 if wide else 40)]
    offsets = {}
    for name, kind, flags, address, content, link, info, align, each in sections:
        body += bytes(-len(body) % (0x1000 if name == ".text" else align))
        offsets[name] = len(body)
        at = names.index(name.encode() + b"\0")
        fields = (at, kind, flags, address, len(body), len(content), link, info, align, each)
        headers.append(struct.pack(ends + "II" + word * 4 + "II" + word * 2, *fields))
        body += content
    body += bytes(-len(body) % 8)
    start = offsets[".text"]
    segments = b""
    for kind, flags, offset, address, size in [
        (1, 5, start, 0x401000, len(text)),
        (4, 4, offsets[".note.gnu.build-id"], 0x400200, len(note)),
    ]:
        if wide:
            segments += struct.pack(ends + "IIQQQQQQ", kind, flags, offset, address, address, size, size, 4)
        else:
            segments += struct.pack(ends + "IIIIIIII", kind, offset, address, address, size, size, flags, 4)
    machine = {(32, "little"): 3, (64, "little"): 62, (32, "big"): 8, (64, "big"): 22}[bits, order]
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "little" else 2, 1]) + bytes(9)
    sizes = (header_bytes, segment_bytes, 2, 64 if wide else 40, len(headers), 7)
    header = ident + struct.pack(
        ends + "HHI" + word * 3 + "IHHHHHH", 2, machine, 1, 0x401000, header_bytes, len(body), 0, *sizes
    )
    return bytes(header + segments + body[header_bytes + 2 * segment_bytes :] + b"".join(headers))


def elf_table(source: Path, out: Path, *options: str) -> str:
    done = subprocess.run([parts(), "elf-table", source, out, *options], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def output(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "", done.stderr
    return done.stdout


def symbols(path: Path) -> list[tuple[str, str]]:
    """Address and name of every symbol. The letter of data changes: it has no bytes any more."""
    return [(line.partition(" ")[0], line.split()[-1]) for line in output("nm", "-p", path).splitlines()]


def functions(path: Path) -> list[str]:
    return [line for line in output("nm", "-p", path).splitlines() if line.split()[-2] in "tTwWi"]


@pytest.mark.parametrize(("bits", "order"), FORMS.values(), ids=FORMS)
def test_each_word_size_and_byte_order(bits: int, order: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(made_elf(bits, order))
    assert elf_table(tmp_path / "in", tmp_path / "out") == BUILD_ID.hex()
    kept = (tmp_path / "out").read_bytes()
    assert len(kept) < 1500
    assert b"secret" not in kept
    assert functions(tmp_path / "out") == functions(tmp_path / "in") != []
    assert BUILD_ID.hex() in output("readelf", "-nW", tmp_path / "out")
    assert output("readelf", "-aW", tmp_path / "out")
    # The way from an offset in the original file to an address.
    lines = {p: [x for x in output("readelf", "-lW", tmp_path / p).splitlines() if "LOAD" in x] for p in ("in", "out")}
    assert lines["in"] == lines["out"] != []
    shapes = [re.sub(r"PROGBITS|NOBITS", "", output("readelf", "-SW", tmp_path / p)) for p in ("in", "out")]
    assert [line.split("]")[1].split()[:1] for line in shapes[0].splitlines() if "] ." in line] == [
        line.split("]")[1].split()[:1] for line in shapes[1].splitlines() if "] ." in line
    ]


@pytest.mark.parametrize(
    "options", [["-static"], ["-shared", "-fPIC"], ["-pie", "-fPIE"], ["-g", "-Wl,--build-id=sha1"]]
)
def test_compiled_programs(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", *options, "-o", tmp_path / "in", tmp_path / "x.c"], check=True)
    build_id = elf_table(tmp_path / "in", tmp_path / "out")
    if "-Wl,--build-id=sha1" in options:
        assert re.fullmatch("[0-9a-f]{40}", build_id)
    assert symbols(tmp_path / "out") == symbols(tmp_path / "in")
    assert functions(tmp_path / "out") == functions(tmp_path / "in")
    assert output("readelf", "-aW", tmp_path / "out")
    # What names the entries of .plt. readelf adds the versions of symbols where it has their table.
    calls = [re.findall(r"JUMP_SL\w+ +\S+ (\w+)", output("readelf", "-rW", tmp_path / p)) for p in ("in", "out")]
    assert calls[0] == calls[1]
    assert "rand" in calls[0] or "-static" in options
    unwinding = [output("readelf", "--debug-dump=frames", tmp_path / name) for name in ("in", "out")]
    assert "FDE" in unwinding[0]
    assert unwinding[0] == unwinding[1]
    assert (tmp_path / "out").stat().st_size < (tmp_path / "in").stat().st_size
    again = tmp_path / "again"
    elf_table(tmp_path / "out", again)
    assert symbols(again) == symbols(tmp_path / "in"), "a table-only file is an ELF file like others"


def test_stripped_of_its_section_headers(tmp_path: Path) -> None:
    whole = bytearray(made_elf(64, "little"))
    whole[40:48] = bytes(8)
    whole[60:64] = bytes(4)
    (tmp_path / "in").write_bytes(whole)
    assert elf_table(tmp_path / "in", tmp_path / "out") == BUILD_ID.hex()
    assert elf_table(tmp_path / "out", tmp_path / "again") == BUILD_ID.hex()
    assert (tmp_path / "out").stat().st_size < 300


def test_large_unwind_tables_are_kept_where_they_are_needed(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(made_elf(64, "little", unwind=bytes(5_000_000)))
    elf_table(tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out").stat().st_size < 100_000
    elf_table(tmp_path / "in", tmp_path / "out", "unwind")
    assert (tmp_path / "out").stat().st_size > 5_000_000


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not an ELF file"),
        (b"#!/bin/sh\n" * 20, "not an ELF file"),
        (b"\x7fELF\x03\x01" + bytes(60), "not an ELF file"),
        (made_elf(64, "little")[:60], "truncated ELF file"),
        (made_elf(64, "big")[:-70], "truncated ELF file"),
        (made_elf(32, "little")[:54] + b"\xff" * 20, "truncated ELF file"),
    ],
)
def test_what_cannot_be_used_is_named(content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(content)
    done = subprocess.run([parts(), "elf-table", tmp_path / "in", tmp_path / "out"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"perfcase-helper: {tmp_path / 'in'}: {why}\n")


def test_damaged_files_do_no_harm(tmp_path: Path) -> None:
    source = random.Random(4)
    seen = set()
    for number in range(scaled(1000, 200)):
        bits, order = source.choice(list(FORMS.values()))
        damaged = bytearray(made_elf(bits, order, b"\x90" * 64))
        places = [*range(4, 64), *range(64, 180), *range(len(damaged) - 500, len(damaged))]
        for _ in range(source.randint(1, 6)):
            damaged[source.choice(places)] = source.choice([0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)])
        if number % 5 == 0:
            del damaged[source.randrange(len(damaged)) :]
        (tmp_path / "in").write_bytes(damaged)
        done = subprocess.run([parts(), "elf-table", tmp_path / "in", tmp_path / "out"], capture_output=True)
        assert done.returncode in (0, 1), done
        seen.add(done.stderr.split(b": ")[-1])
        if done.returncode == 0:
            assert (tmp_path / "out").stat().st_size <= 10 * len(damaged) + 100_000
    assert {b"truncated ELF file\n", b"malformed ELF file\n", b""} <= seen

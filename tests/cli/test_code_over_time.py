"""One address means different code at different times and in different processes: programs that the kernel loads and unloads
(KSYMBOL), two builds of one path, generated code with a perf map for each process. Recordings written by hand."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from perfcase import query, store
from tests.support.symbols.bundle import archive

SAMPLE, MMAP2, KSYMBOL = 9, 10, 17
KERNEL, USER, BUILD_ID = 1, 2, 1 << 14
IP_TID_TIME = 1 | 2 | 4
PROGRAM = 0xFFFF_FFFF_C000_0000
NAMES = "SELECT symbol, symbol_offset_bytes, missing_reason FROM sample JOIN frame USING (frame_id) ORDER BY sample_id"


def record(kind: int, misc: int, body: bytes, pid: int, time: int, *, is_sample: bool = False) -> bytes:
    trailer = b"" if is_sample else struct.pack("<IIQ", pid, pid, time)
    return struct.pack("<IHH", kind, misc, 8 + len(body) + len(trailer)) + body + trailer


def sample(mode: int, address: int, pid: int, time: int) -> bytes:
    return record(SAMPLE, mode, struct.pack("<QIIQ", address, pid, pid, time), pid, time, is_sample=True)


def text(name: str) -> bytes:
    return name.encode() + bytes(8 - len(name) % 8)


def ksymbol(name: str, time: int, *, is_gone: bool = False) -> bytes:
    return record(KSYMBOL, 0, struct.pack("<QIHH", PROGRAM, 0x100, 1, is_gone) + text(name), 0, time)


def mmap(path: str, start: int, length: int, offset: int, pid: int, time: int, build_id: bytes = b"") -> bytes:
    identity = struct.pack("<B3x20s", len(build_id), build_id) if build_id else bytes(24)
    body = struct.pack("<IIQQQ", pid, pid, start, length, offset) + identity + struct.pack("<II", 5, 2) + text(path)
    return record(MMAP2, USER | (BUILD_ID if build_id else 0), body, pid, time)


def perf_data(*records: bytes) -> bytes:
    data = b"".join(records)
    head = struct.pack("<8s12Q", b"PERFILE2", 104, 144, 104, 144, 256, len(data), 0, 0, 0, 0, 0, 0)
    attr = struct.pack("<II5Q10Q2Q", 1, 128, 0, 1000, IP_TID_TIME, 0, 1 << 18, *[0] * 10, 248, 8)
    return head + attr + struct.pack("<Q", 1) + data


def named(file: Path, content: bytes, debug_dirs: list[Path] | None = None) -> list[tuple]:
    file.write_bytes(content)
    with query.connect(store.open_case(file, debug_dirs=debug_dirs or ()).folder) as connection:
        return connection.execute(NAMES).fetchall()


def test_a_program_that_the_kernel_unloads_gives_its_place_away(tmp_path: Path) -> None:
    content = perf_data(
        sample(KERNEL, PROGRAM + 0x10, 5, 50),
        ksymbol("bpf_prog_first", 100),
        sample(KERNEL, PROGRAM + 0x10, 5, 150),
        ksymbol("bpf_prog_first", 200, is_gone=True),
        sample(KERNEL, PROGRAM + 0x10, 5, 250),
        ksymbol("bpf_prog_second", 300),
        sample(KERNEL, PROGRAM + 0x10, 5, 350),
        sample(KERNEL, PROGRAM + 0x100, 5, 360),
    )
    unnamed = (None, None, "no kallsyms in the capture")
    assert named(tmp_path / "perf.data", content) == [
        unnamed,
        ("bpf_prog_first", 0x10, None),
        unnamed,
        ("bpf_prog_second", 0x10, None),
        unnamed,
    ]


@pytest.mark.parametrize("known", ["first", "second", "first second"])
def test_two_builds_of_one_path_are_two_objects(known: str, tmp_path: Path) -> None:
    records = []
    for number, name in enumerate(("first", "second")):
        build_id = bytes([0xA0 + number] * 20)
        built = tmp_path / name
        source = f"int {name}(void) {{ return 0; }}"
        flags = ["-nostdlib", "-shared", "-fPIC", f"-Wl,--build-id=0x{build_id.hex()}"]
        subprocess.run(["gcc", *flags, "-x", "c", "-", "-o", built], input=source.encode(), check=True)
        symbols = subprocess.run(["nm", built], check=True, capture_output=True, text=True).stdout.splitlines()
        address = next(int(line.split()[0], 16) for line in symbols if line.endswith(f" T {name}"))
        if name in known:
            place = tmp_path / "dir" / ".build-id" / build_id.hex()[:2] / f"{build_id.hex()[2:]}.debug"
            place.parent.mkdir(parents=True)
            place.write_bytes(built.read_bytes())
        # An upgrade while the process runs: the same path at the same place, another file.
        start = 0x7F00_0000_0000
        records.append(mmap("/opt/libwork.so", start, 0x8000, 0, 5, 100 * number + 100, build_id))
        records.append(sample(USER, start + address + 1, 5, 100 * number + 150))
    (tmp_path / "dir").mkdir(exist_ok=True)
    rows = named(tmp_path / "perf.data", perf_data(*records), [tmp_path / "dir"])
    expected = [
        (name, 1, None) if name in known else (None, None, "file not in capture") for name in ("first", "second")
    ]
    assert rows == expected


def test_each_process_has_the_perf_map_of_its_own(tmp_path: Path) -> None:
    start = 0x7F00_0000_0000
    content = perf_data(
        mmap("//anon", start, 0x1000, 0, 5, 100),
        mmap("//anon", start, 0x1000, 0, 6, 101),
        mmap("//anon", start, 0x1000, 0, 7, 102),
        sample(USER, start + 0x20, 5, 150),
        sample(USER, start + 0x20, 6, 160),
        sample(USER, start + 0x20, 7, 170),
        sample(USER, start + 0x80, 6, 180),
    )
    head = ["member", "kind", "build_id", "path", "pid", "nspid", "size_bytes", "original_bytes", "reason"]
    rows = [[f"perf-map/{pid}", "perf-map", "-", f"/tmp/perf-{pid}.map", pid, pid, 1, 1, "-"] for pid in (5, 6)]
    members = {
        "perf/perf.data": content,
        "symbols/objects.tsv": "".join("\t".join(map(str, row)) + "\n" for row in (head, *rows)).encode(),
        "symbols/perf-map/5": f"{start:x} 40 LFive;::run\n".encode(),
        "symbols/perf-map/6": f"{start + 0x10:x} 40 six with spaces\n".encode(),
    }
    assert named(tmp_path / "x.perfcase", archive(members)) == [
        ("LFive;::run", 0x20, None),
        ("six with spaces", 0x10, None),
        (None, None, "file not in capture"),
        (None, None, "no symbol covers the address"),
    ]

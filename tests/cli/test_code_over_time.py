"""One address means different code at different times and in different processes: programs that the kernel loads and unloads
(KSYMBOL), two builds of one path, generated code with a perf map for each process. Recordings written by hand."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from perfcase.case import query, store
from tests.support.cli import succeed
from tests.support.symbols.bundle import archive

SAMPLE, MMAP2, KSYMBOL = 9, 10, 17
KERNEL, USER, BUILD_ID = 1, 2, 1 << 14
IP_TID_TIME = 1 | 2 | 4
USE_CLOCKID = 1 << 25
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


def mmap(
    path: str,
    start: int,
    length: int,
    offset: int,
    pid: int,
    time: int,
    build_id: bytes = b"",
    *,
    inode: int = 0,
    generation: int = 0,
) -> bytes:
    identity = struct.pack("<IIQQ", 8, 1, inode, generation)
    if build_id:
        identity = struct.pack("<B3x20s", len(build_id), build_id)
    body = struct.pack("<IIQQQ", pid, pid, start, length, offset) + identity + struct.pack("<II", 5, 2) + text(path)
    return record(MMAP2, USER | (BUILD_ID if build_id else 0), body, pid, time)


def perf_data(*records: bytes, fields: int = IP_TID_TIME, clock_id: int | None = None) -> bytes:
    data = b"".join(records)
    head = struct.pack("<8s12Q", b"PERFILE2", 104, 144, 104, 144, 256, len(data), 0, 0, 0, 0, 0, 0)
    flags = 1 << 18 | (0 if clock_id is None else USE_CLOCKID)
    rest = [0, 0, 0, 0, 0, (clock_id or 0) << 32, 0, 0, 0, 0]
    attr = struct.pack("<II5Q10Q2Q", 1, 128, 0, 1000, fields, 0, flags, *rest, 248, 8)
    return head + attr + struct.pack("<Q", 1) + data


def named(
    file: Path, content: bytes, debug_dirs: list[Path] | None = None, question: str = NAMES, *, is_later: bool = False
) -> list[tuple]:
    """What an import with these directories says; ``is_later``: ``symbolize`` after an import without them."""
    file.write_bytes(content)
    given = debug_dirs or []
    if is_later:
        succeed("symbolize", file, *(word for place in given for word in ("--debug-dir", place)))
    with query.connect(store.open_case(file, debug_dirs=() if is_later else given).folder) as connection:
        return connection.execute(question).fetchall()


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


@pytest.mark.parametrize(
    ("files", "are_several"),
    [
        ([(41, 7), (41, 7)], False),
        ([(41, 7), (42, 8)], True),
        ([(41, 7), (41, 8)], True),  # the next file got the inode of the one that was deleted
        ([(41, 0), (41, 7)], False),  # perf does not know the generation in what ran before
        ([(41, 0), (41, 7), (41, 8)], True),
        ([(0, 0), (41, 7)], False),
        ([(41, 7), (42, 8), None], False),  # the build id tells, for what it tells
    ],
)
def test_a_path_that_several_files_had_names_none_of_them(
    files: list[tuple[int, int] | None], are_several: bool, tmp_path: Path
) -> None:
    """Without build ids: neither at the import nor later."""
    build_id = bytes([0xA0] * 20)
    flags = [
        "-nostdlib",
        "-shared",
        "-fPIC",
        f"-Wl,--build-id=0x{build_id.hex()}" if None in files else "-Wl,--build-id=none",
    ]
    built = tmp_path / "dir" / "opt" / "libwork.so"
    built.parent.mkdir(parents=True)
    source = b"int work(void) { return 0; }"
    subprocess.run(["gcc", *flags, "-x", "c", "-", "-o", built], input=source, check=True)
    symbols = subprocess.run(["nm", built], check=True, capture_output=True, text=True).stdout.splitlines()
    address = next(int(line.split()[0], 16) for line in symbols if line.endswith(" T work"))
    start, records = 0x7F00_0000_0000, []
    for pid, of in enumerate(files, 5):
        inode, generation = of or (0, 0)
        told = b"" if of else build_id
        records.append(mmap("/opt/libwork.so", start, 0x8000, 0, pid, 100, told, inode=inode, generation=generation))
        records.append(sample(USER, start + address + 1, pid, 150))
    content = perf_data(*records)
    expected = [(None, None, "several files had this path") if are_several else ("work", 1, None)] * len(files)
    assert named(tmp_path / "perf.data", content, [tmp_path / "dir"]) == expected
    if are_several:
        case = store.open_case(tmp_path / "perf.data", tmp_path / "later.case")
        with query.connect(store.symbolize(case, [tmp_path / "dir"])[0].folder) as connection:
            assert connection.execute(NAMES).fetchall() == expected


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

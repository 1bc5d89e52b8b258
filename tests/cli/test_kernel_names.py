"""Functions of the kernel without its own list: from its vmlinux, or the list that perf keeps of it, which the user gives.
Recordings and kernels written by hand; at each boot the kernel lies elsewhere (KASLR)."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from perfcase.case import query
from tests.cli.test_code_over_time import (
    BUILD_ID,
    IP_TID_TIME,
    KERNEL,
    MMAP2,
    SAMPLE,
    perf_data,
    record,
    sample,
    text,
)
from tests.cli.test_code_over_time import named as names

ID = bytes([0xB7] * 20)
LINKED = 0xFFFF_FFFF_8100_0000
LOADED = 0xFFFF_FFFF_A340_0000
CALLCHAIN = 1 << 5
KERNEL_CHAIN = 2**64 - 128
HEAD = 0x400
"""Where _stext is behind _text."""
SOURCE = """
static inline __attribute__((always_inline)) int twice(int x) { volatile int y = x; return y * 2; }
__attribute__((section(".head.text"), used)) int head(void) { return 1; }
__attribute__((noinline, noreturn)) void panic(void) { for (;;) ; }
__attribute__((noinline)) int read_it(int x) { return twice(x) + 1; }
__attribute__((noinline)) void last_words(int x) { panic(); }
"""
SCRIPT = f"""
SECTIONS {{
    . = {LINKED:#x};
    .text : {{ _text = .; *(.head.text) . = {HEAD:#x}; _stext = .; *(.text) . += 16; _etext = .; }}
    .note.gnu.build-id : {{ *(.note.gnu.build-id) }}
}}
"""
NAMES = """
    SELECT f.symbol, f.symbol_offset_bytes, f.symbol_source, f.missing_reason
    FROM sample JOIN frame AS f USING (frame_id) ORDER BY sample_id
"""
UNKNOWN = (None, None, None, "no kallsyms in the capture")


@dataclass(frozen=True)
class Vmlinux:
    """A kernel's file and where its functions are behind _text."""

    path: Path
    at: dict[str, int]
    end: dict[str, int]


@pytest.fixture(scope="module")
def vmlinux(tmp_path_factory: pytest.TempPathFactory) -> Vmlinux:
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "x.c").write_text(SOURCE)
    (folder / "x.lds").write_text(SCRIPT)
    flags = [
        "-O1",
        "-g",
        "-ffreestanding",
        "-fno-asynchronous-unwind-tables",
        "-fcf-protection=none",
        "-mcmodel=kernel",
    ]
    subprocess.run(["gcc", *flags, "-fno-pic", "-c", folder / "x.c", "-o", folder / "x.o"], check=True)
    words = ["-T", folder / "x.lds", f"--build-id=0x{ID.hex()}", "-e", "_text", "-o", folder / "vmlinux"]
    subprocess.run(["ld", *words, folder / "x.o"], check=True)
    table = subprocess.run(["nm", "-S", folder / "vmlinux"], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in table.splitlines() if len(line.split()) == 4]
    at = {word[3]: int(word[0], 16) - LINKED for word in words}
    return Vmlinux(folder / "vmlinux", at, {word[3]: at[word[3]] + int(word[1], 16) for word in words})


def kernel(loaded: int = LOADED, symbol: str = "_text", build_id: bytes = ID, time: int = 10) -> bytes:
    """perf's record of the kernel: the offset is the address of the symbol that its name has."""
    place = loaded + (HEAD if symbol == "_stext" else 0)
    head = struct.pack("<iiQQQ", -1, 0, place, 0x100_0000, place) + struct.pack("<B3x20s", len(build_id), build_id)
    body = head + struct.pack("<II", 5, 2) + text(f"[kernel.kallsyms]{symbol}")
    return record(MMAP2, KERNEL | (BUILD_ID if build_id else 0), body, 0, time)


def recording(*offsets: int, first: bytes = b"") -> bytes:
    samples = [sample(KERNEL, LOADED + offset, 5, time) for time, offset in enumerate(offsets, 100)]
    return perf_data(first or kernel(), *samples)


def named(folder: Path, content: bytes, debug_dir: Path, *, is_later: bool = False) -> list[tuple]:
    return names(folder / "perf.data", content, [debug_dir], NAMES, is_later=is_later)


def put(vmlinux: Vmlinux, place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(vmlinux.path, place)
    return place


@pytest.mark.parametrize("is_later", [False, True], ids=["import", "symbolize"])
@pytest.mark.parametrize(
    "place",
    [
        "boot/vmlinux-6.1.0",
        "usr/lib/debug/boot/vmlinux-6.1.0",
        "usr/lib/debug/vmlinux-6.1.0",
        "usr/lib/debug/lib/modules/6.1.0/vmlinux",
        "lib/modules/6.1.0/build/vmlinux",
        f"usr/lib/debug/.build-id/{ID.hex()[:2]}/{ID.hex()[2:]}.debug",
        f"{ID.hex()}/debuginfo",
        "vmlinux",
    ],
)
def test_wherever_a_distribution_puts_it(place: str, is_later: bool, vmlinux: Vmlinux, tmp_path: Path) -> None:
    put(vmlinux, tmp_path / "root" / place)
    content = recording(vmlinux.at["read_it"] + 1, vmlinux.at["head"], 0x20_0000)
    assert named(tmp_path, content, tmp_path / "root", is_later=is_later) == [
        ("read_it", 1, "symtab", None),
        ("head", 0, "symtab", None),
        (None, None, None, "no symbol covers the address"),
    ]


def test_the_file_itself_and_the_other_symbol(vmlinux: Vmlinux, tmp_path: Path) -> None:
    content = recording(vmlinux.at["read_it"] + 2, first=kernel(symbol="_stext"))
    assert named(tmp_path, content, vmlinux.path) == [("read_it", 2, "symtab", None)]
    with query.connect(tmp_path / "perf.data.case") as connection:
        rows = connection.execute("SELECT load_symbol, load_address, build_id FROM dso").fetchall()
    assert rows == [("_stext", LOADED + HEAD, ID.hex())]


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (kernel(build_id=bytes([0xB8] * 20)), "no kallsyms in the capture"),
        (kernel(build_id=b""), "no kallsyms in the capture"),
        (kernel(symbol="_other"), "no kallsyms in the capture"),
        (kernel() + kernel(LOADED + 0x20_0000, time=20), "no kallsyms in the capture"),
    ],
    ids=["another build", "no build id", "an unknown symbol", "two places"],
)
@pytest.mark.parametrize("is_later", [False, True], ids=["import", "symbolize"])
def test_a_kernel_that_is_not_proven_names_nothing(
    first: bytes, reason: str, is_later: bool, vmlinux: Vmlinux, tmp_path: Path
) -> None:
    put(vmlinux, tmp_path / "root/boot/vmlinux-6.1.0")
    content = recording(vmlinux.at["read_it"], first=first)
    assert named(tmp_path, content, tmp_path / "root", is_later=is_later) == [(None, None, None, reason)]


def test_a_file_without_the_symbol_says_so(vmlinux: Vmlinux, tmp_path: Path) -> None:
    bare = tmp_path / "vmlinux"
    subprocess.run(["objcopy", "-N", "_text", "-N", "_stext", vmlinux.path, bare], check=True)
    rows = named(tmp_path, recording(vmlinux.at["read_it"]), bare)
    assert rows == [(None, None, None, "the file does not say where it is loaded")]


def test_a_caller_whose_call_is_its_last_instruction(vmlinux: Vmlinux, tmp_path: Path) -> None:
    """Nothing returns there: the function ends, and nobody's bytes or another function's follow."""
    end = vmlinux.end["last_words"]
    assert end not in vmlinux.at.values()
    assert named(tmp_path, recording(end), vmlinux.path) == [
        ("last_words", end - vmlinux.at["last_words"], "symtab", None)
    ]


@pytest.mark.parametrize("is_later", [False, True], ids=["import", "symbolize"])
def test_inlined_functions_are_frames_of_the_kernel(is_later: bool, vmlinux: Vmlinux, tmp_path: Path) -> None:
    lines = ["addr2line", "-e", vmlinux.path, "-i", "-f"]
    places = range(vmlinux.at["read_it"], vmlinux.end["read_it"])
    told = {
        at: subprocess.run([*lines, hex(LINKED + at)], check=True, capture_output=True, text=True).stdout.split()
        for at in places
    }
    inside = next(at for at in places if told[at][::2] == ["twice", "read_it"])
    address = LOADED + inside
    chain = struct.pack("<QIIQQQQQ", address, 5, 5, 100, 3, KERNEL_CHAIN, address, LOADED + vmlinux.at["head"])
    content = perf_data(kernel(), record(SAMPLE, KERNEL, chain, 5, 100, is_sample=True), fields=IP_TID_TIME | CALLCHAIN)
    assert named(tmp_path, content, vmlinux.path, is_later=is_later)[0][0] == "read_it"
    with query.connect(tmp_path / "perf.data.case") as connection:
        frames = """
            SELECT f.symbol, f.is_inlined, f.is_kernel, f.source_line, s.depth, s.kernel_depth
            FROM stack AS s, unnest(s.frame_ids) WITH ORDINALITY AS l(frame_id, position) JOIN frame AS f USING (frame_id)
            ORDER BY position
        """
        rows = connection.execute(frames).fetchall()
    own = [int(place.rpartition(":")[2]) for place in told[inside][1::2]]
    frames = [("twice", True, True, own[0]), ("read_it", False, True, own[1]), ("head", False, True, 3)]
    assert rows == [(*frame, 3, 3) for frame in frames]


def listed(vmlinux: Vmlinux, loaded: int) -> str:
    """/proc/kallsyms of another boot."""
    symbols = {**vmlinux.at, "_text": 0, "_stext": HEAD}  # the names of the linker script come later
    lines = [f"{loaded + at:x} T {name}" for name, at in sorted(symbols.items(), key=lambda item: item[1])]
    return "\n".join([*lines, f"{0xFFFF_FFFF_C000_0000:x} t of_module\t[some]", ""])


@pytest.mark.parametrize("is_later", [False, True], ids=["import", "symbolize"])
@pytest.mark.parametrize("form", ["folder", "home", "archive"])
def test_the_list_that_perf_keeps(form: str, is_later: bool, vmlinux: Vmlinux, tmp_path: Path) -> None:
    """A list of another boot, as `perf buildid-cache` and `perf archive` have it; its modules lay elsewhere, too."""
    cache = tmp_path / "cache"
    root = cache / ".debug" if form == "home" else cache
    place = root / "[kernel.kallsyms]" / ID.hex() / "kallsyms"
    place.parent.mkdir(parents=True)
    place.write_text(listed(vmlinux, LOADED - 0x20_0000))
    link = root / ".build-id" / ID.hex()[:2] / ID.hex()[2:]
    link.parent.mkdir(parents=True)
    link.symlink_to(f"../../[kernel.kallsyms]/{ID.hex()}")
    given = cache
    if form == "archive":
        given = tmp_path / "perf.data.tar.bz2"
        with tarfile.open(given, "w:bz2") as archive:
            archive.add(cache, arcname=".")
    module = 0xFFFF_FFFF_C000_0004 - LOADED
    content = recording(vmlinux.at["read_it"] + 1, HEAD - 1, module, 0x400_0000)
    rest = (None, None, None, "not in kallsyms")
    assert named(tmp_path, content, given, is_later=is_later) == [
        ("read_it", 1, "kallsyms", None),
        ("head", HEAD - 1 - vmlinux.at["head"], "kallsyms", None),
        rest,
        rest,
    ]


def test_a_file_says_more_than_a_list(vmlinux: Vmlinux, tmp_path: Path) -> None:
    place = tmp_path / "root" / "[kernel.kallsyms]" / ID.hex() / "kallsyms"
    place.parent.mkdir(parents=True)
    place.write_text(listed(vmlinux, LOADED))
    put(vmlinux, tmp_path / "root" / ".build-id" / ID.hex()[:2] / f"{ID.hex()[2:]}.debug")
    assert named(tmp_path, recording(vmlinux.at["read_it"]), tmp_path / "root") == [("read_it", 0, "symtab", None)]


@pytest.mark.parametrize("damage", ["", "nothing here\n", "0000000000000000 T _text\n", "zz T _text\n\xff"])
def test_a_list_that_is_none(damage: str, tmp_path: Path) -> None:
    place = tmp_path / "root" / "[kernel.kallsyms]" / ID.hex() / "kallsyms"
    place.parent.mkdir(parents=True)
    place.write_bytes(damage.encode("latin-1"))
    rows = named(tmp_path, recording(HEAD), tmp_path / "root")
    assert rows == [(None, None, None, "no symbol table")]

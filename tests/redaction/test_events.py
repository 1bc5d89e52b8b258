"""Events whose values are replaced in place: damaged ones, copies of stacks, what perf does not write."""

from __future__ import annotations

import lzma
import random
import struct
from pathlib import Path

import pytest

from perfcase.case.store import import_core
from perfcase.errors import PerfcaseError
from perfcase.redaction.events import is_sealed
from tests.support import private_capture
from tests.support.cli import perfcase
from tests.support.scale import scaled

CAPTURES = Path(__file__).parents[1] / "data" / "captures"


def _visit(folder: Path, members: list[str], shift: int = 0) -> tuple[int, int, int]:
    """Read the events, and write them again with nothing replaced but what is removed or moved."""
    events = import_core().Events()
    events.visit(str(folder), members)
    events.change([{} for _ in events.texts()], {}, shift % (1 << 64))
    events.visit(str(folder), members)
    return events.removed()


def _unpacked(name: str, folder: Path) -> Path:
    (folder / "perf").mkdir()
    file = folder / "perf" / "perf.data"
    file.write_bytes(lzma.decompress((CAPTURES / name).read_bytes()))
    return file


@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
def test_copies_of_stacks_are_removed(machine: str, tmp_path: Path) -> None:
    """The samples stay, with the address of the instruction, and perfcase says that it cannot unwind them."""
    file = _unpacked(f"{machine}/hw-dwarf.data.xz", tmp_path)
    before = _samples(file)
    memory, unknown, _ = _visit(tmp_path, ["perf/perf.data"])
    after = _samples(file)
    assert before[0] == after[0] == memory > 0
    assert unknown == 0
    assert before[1] == after[1]
    assert before[2] > 0
    assert after[2] == 0


def test_what_lay_behind_a_copy_of_a_stack_is_removed(tmp_path: Path) -> None:
    """The kernel fills its buffer only as far as the stack goes: behind it is what the buffer held before."""
    file = _unpacked("x86_64/hw-dwarf.data.xz", tmp_path)
    copy = tmp_path / "copy.data"
    copy.write_bytes(file.read_bytes())
    sql = "SELECT hex(user_stack) FROM sample_detail WHERE user_stack IS NOT NULL ORDER BY octet_length(user_stack) LIMIT 1"
    found = bytes.fromhex(perfcase("sql", copy, sql, "--format", "csv").stdout.split()[-1])
    data = bytearray(file.read_bytes())
    assert data.count(found) == 1
    end = data.index(found) + len(found)
    # Behind what was asked for stands how much was copied.
    assert int.from_bytes(data[end : end + 8], "little") != len(found)
    data[end : end + 8] = b"stale!!!"
    file.write_bytes(data)
    _visit(tmp_path, ["perf/perf.data"])
    assert b"stale!!!" not in file.read_bytes()


def _samples(file: Path) -> tuple[int, str, int]:
    """The number of copies, times and addresses of all samples, and the number of copies with something in them."""
    copy = file.with_name("copy.data")
    copy.write_bytes(file.read_bytes())
    done = perfcase("sql", copy, _COPIES, "--format", "csv")
    assert done.returncode == 0, done.stderr
    count, filled = done.stdout.split()[-1].split(",")
    times = perfcase(
        "sql", copy, "SELECT ts_ns, cpu, utid, event_id FROM sample ORDER BY ALL", "--format", "csv"
    ).stdout
    return int(count), times, int(filled)


_COPIES = (
    "SELECT count(user_stack), count(*) FILTER (length(replace(hex(user_stack), '00', '')) > 0) FROM sample_detail"
    " WHERE user_stack IS NOT NULL"
)


def test_damaged_events_crash_nothing(tmp_path: Path) -> None:
    """What cannot be read is refused; nothing is written beside the folder."""
    chance = random.Random(4)
    members = private_capture.members()
    sources = [["perf/perf.data"], sorted(name for name in members if name.startswith("ftrace/raw/"))]
    outcomes = {"refused": 0, "visited": 0}
    for number in range(scaled(2000)):
        folder = tmp_path / str(number)
        source = sources[number % 2]
        for name in source:
            data = bytearray(members[name][1])
            if name.endswith(("perf.data", "cpu0", "header_page", "exec")):
                for _ in range(chance.randint(1, 6)):
                    data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
                data = data[: chance.choice((len(data), len(data), chance.randrange(len(data))))]
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        try:
            _visit(folder, source, -(2 << 20))
            outcomes["visited"] += 1
        except PerfcaseError as error:
            outcomes["refused" if error.kind == "input" else error.kind] += 1
        for name in source:
            assert (folder / name).exists()
    assert min(outcomes.values()) > 0
    assert {path.name for path in tmp_path.iterdir()} == {str(number) for number in range(scaled(2000))}


def test_what_is_refused(tmp_path: Path) -> None:
    _unpacked("x86_64/profile-z.data.xz", tmp_path)
    with pytest.raises(PerfcaseError, match="compressed"):
        _visit(tmp_path, ["perf/perf.data"])


@pytest.mark.parametrize("is_wide", [False, True])
def test_compressed_sections_are_seen(is_wide: bool, tmp_path: Path) -> None:
    def program(kind: int, bits: int) -> Path:
        size, at = (64, 64) if is_wide else (40, 64)
        head = bytearray(64)
        head[:6] = b"\x7fELF" + bytes([2 if is_wide else 1, 1])
        struct.pack_into("<Q" if is_wide else "<I", head, 40 if is_wide else 32, at)
        struct.pack_into("<HH", head, 58 if is_wide else 46, size, 2)
        section = bytearray(size)
        struct.pack_into("<IQ" if is_wide else "<II", section, 4, kind, bits)
        (tmp_path / "elf").write_bytes(bytes(head) + bytes(size) + bytes(section))
        return tmp_path / "elf"

    assert is_sealed(program(1, 1 << 11))
    assert not is_sealed(program(8, 1 << 11))
    assert not is_sealed(program(1, 6))
    (tmp_path / "short").write_bytes(b"\x7fELF" + bytes(20))
    assert not is_sealed(tmp_path / "short")

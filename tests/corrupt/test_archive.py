"""Damaged archives: an import never crashes, keeps what is before the damage and says where it is."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.support.scale import scaled

ARCHIVE = Path(__file__).parents[1] / "compat" / "v1.0" / "command.perfcase"
# The source that each recording belongs to.
RECORDS = {"perf/perf.data": "perf", "ftrace/raw/cpu1": "ftrace", "pmc/perf-stat.csv": "pmc", "proc/snapshots": "proc"}


def import_bytes(data: bytes, folder: Path) -> tuple[dict[str, int], list[tuple]]:
    """Records of each source, and (severity, kind, byte offset) of each issue."""
    file = folder / "damaged.perfcase"
    file.write_bytes(data)
    case = store.open_case(file, folder / "damaged.case", force=True)
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        rows = dict(connection.execute("SELECT name, event_count FROM source WHERE name <> 'host'").fetchall())
        issues = connection.execute("SELECT severity, kind, byte_offset FROM import_issue").fetchall()
    return rows, issues


def members(data: bytes) -> dict[str, range]:
    """Where the data of each member of a ustar archive lie, by path without the suffix of its compression."""
    found, at = {}, 0
    while any(data[at : at + 512]):
        header = data[at : at + 512]
        name = b"/".join(part.rstrip(b"\0") for part in (header[345:500], header[:100]) if part.rstrip(b"\0"))
        size = int(header[124:135], 8)
        found[name.decode().removesuffix(".zst")] = range(at + 512, at + 512 + size)
        at = (at + 512 + size + 511) // 512 * 512
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    rows, issues = import_bytes(ARCHIVE.read_bytes(), tmp_path_factory.mktemp("whole"))
    assert all(severity == "info" for severity, _, _ in issues)
    assert all(rows.values())
    return rows


@pytest.mark.parametrize("number", range(scaled(12, 3)))
def test_a_cut_archive_keeps_the_members_before(number: int, whole: dict[str, int], tmp_path: Path) -> None:
    data = ARCHIVE.read_bytes()
    places = members(data)
    # From the end of the manifest on: what is cut before is no archive.
    cut = random.Random(number).randrange(places["manifest.json"].stop, max(p.stop for p in places.values()))
    rows, issues = import_bytes(data[:cut], tmp_path)
    assert [issue for issue in issues if issue[1] == "truncated" and issue[2] == cut] == [("error", "truncated", cut)]
    for member, source in RECORDS.items():
        if places[member].stop <= cut:
            assert rows[source] == whole[source], f"{member} lies before the cut at {cut}"
        else:
            assert rows[source] <= whole[source]


@pytest.mark.parametrize("member", [*RECORDS, "host/kallsyms"])
def test_a_flipped_byte_is_found_by_the_checksum(member: str, whole: dict[str, int], tmp_path: Path) -> None:
    data = bytearray(ARCHIVE.read_bytes())
    place = members(bytes(data))[member]
    data[place.start + len(place) // 2] ^= 0x10
    rows, issues = import_bytes(bytes(data), tmp_path)
    assert [issue[0] for issue in issues if issue[1] == "checksum"] == ["error"]
    for other, source in RECORDS.items():
        if other != member:
            assert rows[source] == whole[source], f"{other} is not damaged"


@pytest.mark.parametrize("number", range(scaled(8, 3)))
def test_headers_of_random_bytes_are_survived(number: int, whole: dict[str, int], tmp_path: Path) -> None:
    rng = random.Random(number)
    data = bytearray(ARCHIVE.read_bytes())
    places = members(bytes(data))
    del places["manifest.json"]
    place = rng.choice(list(places.values()))
    data[place.start - 512 : place.start] = rng.randbytes(512)
    rows, issues = import_bytes(bytes(data), tmp_path)
    assert ("error", "damaged_header", place.start - 512) in issues
    for member, source in RECORDS.items():
        if places[member] != place and not member.startswith("ftrace/"):
            assert rows[source] == whole[source], f"{member} has a header"

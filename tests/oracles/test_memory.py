"""contended_cache_line and cache_line_access against `perf c2c report`, address_profile against `perf annotate`.

tests/data/profiles holds the captures, what the tools said about them, and how both were made. The memory samples are a
recording whose data_src words were written by hand: the machine had no PMU that samples memory accesses.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.oracles.compare import assert_same

DATA = Path(__file__).parents[1] / "data" / "profiles"


@pytest.fixture(scope="module")
def open_case(tmp_path_factory: pytest.TempPathFactory):
    def get(name: str) -> duckdb.DuckDBPyConnection:
        path = tmp_path_factory.mktemp(name) / f"{name}.data"
        path.write_bytes(lzma.decompress((DATA / f"{name}.data.xz").read_bytes()))
        return duckdb.connect(
            str(store.open_case(path, path.with_suffix(".case")).folder / "case.duckdb"), read_only=True
        )

    return get


def section(text: str, title: str) -> list[str]:
    """The lines below a title, up to the next ruler."""
    (_, rest) = text.split(f"{title}\n", 1)
    lines = rest.splitlines()[1:]
    return lines[: next((i for i, line in enumerate(lines) if line.startswith("======")), len(lines))]


def test_lines_of_c2c(open_case) -> None:
    """Every row and every count of the table of shared lines; c2c leaves out lines without hitm."""
    text = (DATA / "mem.c2c.txt").read_text()
    theirs = Counter()
    for line in section(text, "           Shared Data Cache Line Table"):
        cells = line.split()
        if not cells or cells[0].startswith("#"):
            continue
        # Index Address Node PAcnt Hitm% Total Lcl Rmt records Loads Stores L1Hit L1Miss N/A FB L1 L2 LLC LclHitm RmtHit …
        share = float(cells[4].rstrip("%"))
        theirs[int(cells[1], 16), share, *map(int, cells[5:11]), int(cells[12])] += 1
    ours = Counter(
        open_case("mem")
        .execute(
            "SELECT line_address, round(100 * hitm_ratio, 2), hitm_count, local_hitm_count, remote_hitm_count,"
            " access_count, load_count, store_count, store_l1_miss_count FROM contended_cache_line WHERE hitm_count > 0"
        )
        .fetchall()
    )
    assert sum(theirs.values()) == 2
    assert_same(ours, theirs)


def test_sums_of_c2c(open_case) -> None:
    """What c2c counts over all samples, by the decoded fields."""
    text = (DATA / "mem.c2c.txt").read_text()
    told = {key.strip(): int(value) for key, value in re.findall(r"^  (\S.*?) +: +(\d+)$", text, re.MULTILINE)}
    sums = {
        "Load Operations": "operation = 'load'",
        "Store Operations": "operation = 'store'",
        "Locked Load/Store Operations": "is_locked",
        "Loads - Miss": "operation = 'load' AND is_miss",
        "Load Fill Buffer Hit": "operation = 'load' AND is_hit AND level = 'LFB'",
        "Load L1D hit": "operation = 'load' AND is_hit AND level = 'L1'",
        "Load L2D hit": "operation = 'load' AND is_hit AND level = 'L2'",
        "Load Local HITM": "is_local_hitm",
        "Load Remote HITM": "is_remote_hitm",
        "Load Remote HIT": "operation = 'load' AND level = 'remote cache' AND snoop = 'hit'",
        "Load Local DRAM": "operation = 'load' AND is_hit AND level = 'RAM'",
        "Load HIT Local Peer": "is_peer",
        "Store L1D Hit": "operation = 'store' AND is_hit AND level = 'L1'",
        "Store L1D Miss": "operation = 'store' AND is_miss AND level = 'L1'",
        "Unable to parse data source": "operation IS NULL",
    }
    columns = ", ".join(f"count(*) FILTER ({condition})" for condition in sums.values())
    ours = open_case("mem").execute(f"SELECT {columns} FROM memory_access").fetchone()
    assert dict(zip(sums, ours, strict=True)) == {key: told[key] for key in sums}


def test_places_of_c2c(open_case) -> None:
    """The table below: offset by offset; c2c tells hitm as a share of the line's with two decimals."""
    theirs, line = Counter(), 0
    for text in section((DATA / "mem.c2c.txt").read_text(), "      Shared Cache Line Distribution Pareto"):
        cells = text.split()
        if len(cells) == 7 and cells[-1].startswith("0x"):
            line = int(cells[-1], 16)
        elif len(cells) > 14 and cells[0].endswith("%"):
            # RmtHitm LclHitm L1Hit L1Miss N/A Offset Node PAcnt Code rmt lcl load records cpus …
            theirs[line, int(cells[5], 16), float(cells[1].rstrip("%")), int(cells[12]), int(cells[13])] += 1
    ours = Counter(
        open_case("mem")
        .execute(
            "SELECT line_address, a.offset_bytes, round(100 * a.hitm / sum(a.hitm) OVER (PARTITION BY line_address), 2),"
            " a.access_count, a.cpu_count"
            " FROM (SELECT line_address, offset_bytes, symbol, access_count, cpu_count, ("
            "    SELECT count(*) FROM memory_access AS m JOIN frame_label AS l USING (frame_id)"
            "    WHERE m.is_local_hitm AND m.data_address = x.line_address + x.offset_bytes AND l.label = x.symbol) AS hitm"
            "   FROM cache_line_access AS x) AS a"
            " SEMI JOIN (FROM contended_cache_line WHERE hitm_count > 0) USING (line_address)"
        )
        .fetchall()
    )
    assert sum(theirs.values()) == 5
    assert_same(ours, theirs)


def test_instructions_of_annotate(open_case) -> None:
    """Every instruction of the function: perf annotate prints its share with two decimals.

    The program is position independent and its text lies in the file where it lies in memory, so that the address of
    objdump is the one in the object.
    """
    lines = re.findall(r"^ +(\d+\.\d\d) : +([0-9a-f]+):", (DATA / "hot.annotate.txt").read_text(), re.MULTILINE)
    theirs = {int(address, 16): float(share) for share, address in lines}
    first, last = min(theirs), max(theirs)
    rows = open_case("hot").execute(
        "SELECT address, 100 * period / sum(period) OVER (), sample_count FROM address_profile"
        " WHERE dso = 'hot' AND address BETWEEN ? AND ?", [first, last]
    ).fetchall()  # fmt: skip
    ours = {address: share for address, share, _ in rows}
    (samples,) = re.search(r"\((\d+) samples", (DATA / "hot.annotate.txt").read_text()).groups()
    assert sum(count for _, _, count in rows) == int(samples)
    assert ours.keys() <= theirs.keys()
    assert len(ours) >= 5
    for address, share in theirs.items():
        assert abs(ours.get(address, 0.0) - share) <= 0.005 + 1e-9, hex(address)

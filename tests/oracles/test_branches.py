"""Branch stacks against `perf script -F brstack`: every branch with its flags, and branch_profile added up from them.

The recording is written by hand (tests/data/profiles/build_branches.py): no machine with LBR was at hand.
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
BRANCH = re.compile(r"(0x[0-9a-f]+)/(0x[0-9a-f]+)/([MP-])/([X-])/([A-])/(\d+)/(\w+)")
TYPES = {"COND": "conditional", "CALL": "call", "RET": "return", "SYSCALL": "system call"}
# Where /bin/app is mapped, and from which offset of the file.
BASE, OFFSET = 0x555500000000, 0x2000


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    path = tmp_path_factory.mktemp("branches") / "branch.data"
    path.write_bytes(lzma.decompress((DATA / "branch.data.xz").read_bytes()))
    return duckdb.connect(str(store.open_case(path, path.with_suffix(".case")).folder / "case.duckdb"), read_only=True)


def printed() -> list[list[tuple[str, ...]]]:
    return [BRANCH.findall(line) for line in (DATA / "branch.brstack.txt").read_text().splitlines()]


def test_every_branch(connection: duckdb.DuckDBPyConnection) -> None:
    theirs = Counter(
        (sample, position, int(a, 16), int(b, 16), prediction, transaction, abort, int(cycles))
        for sample, branches in enumerate(printed())
        for position, (a, b, prediction, transaction, abort, cycles, _) in enumerate(branches)
    )
    ours = Counter(
        connection.execute(
            "SELECT sample_id, position, from_address, to_address,"
            " CASE flags & 3 WHEN 1 THEN 'M' WHEN 2 THEN 'P' ELSE '-' END, CASE WHEN flags & 4 > 0 THEN 'X' ELSE '-' END,"
            " CASE WHEN flags & 8 > 0 THEN 'A' ELSE '-' END, (flags >> 4) & 65535 FROM branch"
        ).fetchall()
    )
    assert sum(theirs.values()) == 240
    assert_same(ours, theirs)


def test_added_up(connection: duckdb.DuckDBPyConnection) -> None:
    """Addresses within the object; the kernel's stay as they are."""
    found: dict[tuple, list[tuple[str, int]]] = {}
    for a, b, prediction, _, _, cycles, kind in (branch for branches in printed() for branch in branches):
        place = tuple(address if address >> 63 else address - BASE + OFFSET for address in (int(a, 16), int(b, 16)))
        found.setdefault((*place, TYPES[kind]), []).append((prediction, int(cycles)))
    theirs: Counter = Counter()
    for key, branches in found.items():
        predictions = Counter(prediction for prediction, _ in branches)
        counted = [cycles for _, cycles in branches if cycles]
        told = predictions["M"] + predictions["P"]
        theirs[
            *key,
            len(branches),
            predictions["M"] if told else None,
            predictions["M"] / told if told else None,
            sum(counted) / len(counted) if counted else None,
        ] += 1
    ours = Counter(
        connection.execute(
            "SELECT from_address, to_address, type, branch_count, mispredicted_count, mispredicted_ratio, gap_avg_cycles"
            " FROM branch_profile"
        ).fetchall()
    )
    assert_same(ours, theirs)

"""Memory accesses, registers and branches: the same rows from what perf script printed as from the perf.data it printed."""

from __future__ import annotations

import lzma
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from perfcase.case import store
from tests.oracles.compare import assert_same
from tests.oracles.conftest import Case
from tests.oracles.test_perf_script_text import hashable

DATA = Path(__file__).parents[1] / "data" / "profiles"
SAMPLE = "s.ts_ns + c.start_clock_ns, t.tid, s.period"
JOINED = "JOIN sample AS s USING (sample_id) JOIN thread AS t USING (utid) CROSS JOIN capture AS c"
DETAILS = f"""
    SELECT {SAMPLE}, d.data_address, CASE o.kind WHEN 'anon' THEN o.kind ELSE o.name END, d.physical_address, d.data_src,
        d.weight, d.user_regs_abi, d.user_regs, d.intr_regs
    FROM sample_detail AS d {JOINED} LEFT JOIN dso AS o ON o.dso_id = d.data_dso_id
"""
BRANCHES = f"""
    SELECT {SAMPLE}, b.position, b.from_address, b.to_address, b.flags, f.is_kernel, k.is_kernel
    FROM branch AS b {JOINED} JOIN frame AS f ON f.frame_id = b.from_frame_id JOIN frame AS k ON k.frame_id = b.to_frame_id
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Case, Case]]:
    """A recording's two cases: of its text and of itself."""

    def cases(name: str) -> tuple[Case, Case]:
        folder = tmp_path_factory.mktemp(name)
        (folder / f"{name}.data").write_bytes(lzma.decompress((DATA / f"{name}.data.xz").read_bytes()))
        text = store.open_case(DATA / f"{name}.script.txt", folder / "text.case")
        return Case(text.folder), Case(store.open_case(folder / f"{name}.data", folder / "data.case").folder)

    return cases


@pytest.mark.parametrize(
    ("name", "sql", "count"), [("mem", DETAILS, 76), ("regs", DETAILS, 25), ("branch", BRANCHES, 240)]
)
def test_same_rows(name: str, sql: str, count: int, pair) -> None:
    text, data = (Counter(map(hashable, case.rows(sql))) for case in pair(name))
    assert_same(text, data)
    assert sum(data.values()) == count


@pytest.mark.parametrize("name", ["mem", "regs", "branch"])
def test_every_line_is_understood(name: str, pair) -> None:
    text, data = pair(name)
    assert text.rows("SELECT kind, message FROM import_issue WHERE kind <> 'rounded_times'") == []
    sampled = "SELECT s.ts_ns + c.start_clock_ns, s.period, s.cpu_mode FROM sample AS s CROSS JOIN capture AS c"
    assert_same(Counter(text.rows(sampled)), Counter(data.rows(sampled)))


def test_registers_of_one_kind(tmp_path: Path) -> None:
    """The header says which kind was recorded; where it was both, the text does not tell."""
    for recorded, expected in (
        ("REGS_USER", (2, [181], None)),
        ("REGS_INTR", (None, None, [181])),
        ("", (2, [181], None)),
    ):
        path = tmp_path / f"{recorded}.txt"
        path.write_text(
            f"# event : name = cycles, sample_type = IP|TID|TIME|{recorded}\n"
            "app 7/7 1.000001000:  250000 cycles:u:  401136 main (/bin/app) ABI:2    AX:0xb5\n"
        )
        case = Case(store.open_case(path, path.with_suffix(".case")).folder)
        assert case.rows("SELECT user_regs_abi, user_regs, intr_regs FROM sample_detail") == [expected]
    path = tmp_path / "both.txt"
    path.write_text(
        "# event : name = cycles, sample_type = IP|TID|TIME|REGS_USER|REGS_INTR\n"
        "app 7/7 1.000001000:  250000 cycles:u:\n\t401136 main (/bin/app)\n ABI:2    AX:0xb5\n\n"
    )
    case = Case(store.open_case(path, tmp_path / "both.case").folder)
    assert case.rows("SELECT * FROM sample_detail") == []
    assert case.rows("SELECT kind FROM import_issue WHERE kind <> 'rounded_times'") == [("unclear_registers",)]
    assert case.value("SELECT count(*) FROM stack") == 1

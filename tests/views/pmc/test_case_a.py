"""Published counters through the decoder: hand-made `perf stat -I` files of every form give the published ratios."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store

EVENTS = ("cycles", "instructions", "branches", "branch-misses", "cache-references", "cache-misses")

# K_CYCLES K_INSTR BR_RETIRED BR_MISPRED LLCREF LLCMISS per 10 s, and what the publication made of them: IPC BMR% LLC%.
LINES = (
    ((982412660, 575706336, 126424862460, 2416880487, 15724006692, 10872315070), (0.59, 1.91, 30.86)),
    ((999621309, 555043627, 120449284756, 2317302514, 15378257714, 11121882510), (0.56, 1.92, 27.68)),
    ((147523816, 222396364, 46053921119, 641813770, 8880477235, 968809014), (1.51, 1.39, 89.09)),
    ((156634810, 229801807, 48236123573, 653064504, 9186609260, 1183858023), (1.47, 1.35, 87.11)),
)


def counts(line: tuple[int, ...]) -> list[int]:
    return [line[0] * 1000, line[1] * 1000, *line[2:]]


def csv(separator: str = ",", cpus: int = 0) -> str:
    """As perf stat -I 10000 -x, -a [-A] writes it; with cpus, CPU 0 has all but 7 of each count."""
    rows = ["# started on Sat Nov 21 00:09:11 2026", ""]
    for number, (line, _) in enumerate(LINES, 1):
        for event, count in zip(EVENTS, counts(line), strict=True):
            shares = [count - 7 * (cpus - 1)] + [7] * (cpus - 1) if cpus else [count]
            for cpu, share in enumerate(shares):
                scope = [f"CPU{cpu}"] if cpus else []
                rows.append(separator.join(
                    [f"{number * 10:6d}.000000000", *scope, str(share), "", event, "10000000000", "100.00", "", ""]
                ))  # fmt: skip
    return "\n".join(rows) + "\n"


def as_json() -> str:
    """As perf stat -I 10000 -j -a writes it."""
    rows = []
    for number, (line, _) in enumerate(LINES, 1):
        for event, count in zip(EVENTS, counts(line), strict=True):
            reading = {"interval": number * 10, "counter-value": f"{count}.000000", "unit": "", "event": event}
            rows.append(json.dumps(reading | {"event-runtime": 10000000000, "pcnt-running": 100.0}))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    "text",
    [csv, lambda: csv(";"), lambda: csv(cpus=48), as_json],
    ids=["csv", "semicolons", "48 CPUs", "json"],
)
def test_pmcarch_gives_the_published_ratios(text: Callable[[], str], tmp_path: Path) -> None:
    file = tmp_path / "perf-stat.txt"
    file.write_text(text())
    case = store.open_case(file)
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT ts_ns + interval_ns, cycles, instructions, branches, branch_misses, llc_references, llc_misses, round(ipc, 2),"
            " round(100 * branch_miss_ratio, 2), round(100 * llc_hit_ratio, 2) FROM pmcarch ORDER BY ts_ns"
        ).fetchall()
        issues = connection.execute("SELECT severity, kind FROM import_issue WHERE severity <> 'info'").fetchall()
    assert rows == [(number * 10_000_000_000, *counts(line), *ratios) for number, (line, ratios) in enumerate(LINES, 1)]
    assert issues == []

"""The views above pmc_interval against the metrics that perf stat prints beside its counts, on the same lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.oracles.compare import assert_same

DATA = Path(__file__).parents[1] / "data" / "perf_stat"
SOFTWARE = ("context-switches", "cpu-migrations", "page-faults", "task-clock")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], list[tuple]]:
    folder = tmp_path_factory.mktemp("perf-stat")

    def ask(name: str, sql: str) -> list[tuple]:
        case = store.open_case(DATA / name, folder / f"{name}.case")
        with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
            return connection.execute(sql).fetchall()

    return ask


def nanoseconds(seconds: str) -> int:
    return round(float(seconds) * 1e9)


def test_clock_of_each_cpu(rows) -> None:
    """GHz, which perf prints with three decimals; it is cycles / task-clock there as here."""
    lines = [line.strip().split(",") for line in (DATA / "cpu-hardware.csv").read_text().splitlines()]
    theirs = {(nanoseconds(c[0]), int(c[1][3:])): float(c[7]) for c in lines if len(c) > 8 and c[8] == "GHz"}
    found = rows("cpu-hardware.csv", "SELECT ts_ns + interval_ns, cpu, effective_ghz, method FROM cpu_frequency")
    assert {method for *_, method in found} == {"cycles/task-clock"}
    ours = {(ts, cpu): ghz for ts, cpu, ghz, _ in found}
    assert len(theirs) == 12
    assert ours.keys() == theirs.keys()
    for key, ghz in theirs.items():
        assert abs(ours[key] - ghz) <= 0.0005 + 1e-9, key


def test_instructions_per_cycle(rows) -> None:
    """For all CPUs, with six decimals; GHz beside it."""
    objects = [
        json.loads(line) for line in (DATA / "all-hardware.json").read_text().splitlines() if line.startswith("{")
    ]
    told = {
        unit: {nanoseconds(o["interval"]): float(o["metric-value"]) for o in objects if o["metric-unit"] == unit}
        for unit in ("insn per cycle", "GHz")
    }
    ours = {
        "insn per cycle": dict(rows("all-hardware.json", "SELECT ts_ns + interval_ns, ipc FROM pmcarch")),
        "GHz": dict(rows("all-hardware.json", "SELECT ts_ns + interval_ns, effective_ghz FROM cpu_frequency")),
    }
    for unit, theirs in told.items():
        assert len(theirs) >= 5
        assert ours[unit].keys() == theirs.keys()
        for ts, value in theirs.items():
            assert abs(ours[unit][ts] - value) <= 5e-7 + 1e-9, (unit, ts)


@pytest.mark.parametrize("name", ["cpu-hardware.csv", "cpu.csv", "core.csv", "all.csv", "thread-intervals.csv"])
def test_software_events_add_up(name: str, rows) -> None:
    """Every event of every interval, over CPUs, cores and threads; perf prints msec with two decimals."""
    theirs: Counter = Counter()
    for line in (DATA / name).read_text().splitlines():
        cells = line.strip().split(",")
        at = next((i for i, cell in enumerate(cells) if cell in SOFTWARE), None)
        if at is None or cells[at - 2].startswith("<"):
            continue
        scale = 1_000_000 if cells[at - 1] == "msec" else 1
        theirs[nanoseconds(cells[0]), cells[at]] += round(float(cells[at - 2]) * scale)
    ours = Counter(
        {
            (ts, event): round(count)
            for ts, event, count in rows(
                name, "SELECT ts_ns + interval_ns, event, count FROM software_events WHERE count IS NOT NULL"
            )
        }
    )
    assert len(theirs) >= 4
    assert_same(ours, theirs)

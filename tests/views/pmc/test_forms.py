"""Forms of `perf stat` that no machine at hand writes, by hand: hybrid CPUs, counters that take turns, old and new perf."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from perfcase.case import store

HYBRID_CSV = """\
# started on Sat Nov 21 00:09:11 2026

     1.000000000,1000,,cpu_core/cycles/,500000000,50.00,,
     1.000000000,<not counted>,,cpu_atom/cycles/,0,0.00,,
     1.000000000,2500,,cpu_core/instructions/,500000000,50.00,2.50,insn per cycle
     1.000000000,<not counted>,,cpu_atom/instructions/,0,0.00,,
     2.000000000,1000,,cpu_core/cycles/,500000000,50.00,,
     2.000000000,600,,cpu_atom/cycles/,500000000,50.00,,
     2.000000000,2500,,cpu_core/instructions/,500000000,50.00,,
     2.000000000,300,,cpu_atom/instructions/,500000000,50.00,,
"""

HYBRID_JSON = """\
{"interval" : 1.000000000, "counter-value" : "1000.000000", "unit" : "", "event" : "cpu_core/cycles/", \
"event-runtime" : 500000000, "pcnt-running" : 50.00, "metric-value" : "nan", "metric-unit" : ""}
{"interval" : 1.000000000, "counter-value" : "<not counted>", "unit" : "", "event" : "cpu_atom/cycles/", \
"event-runtime" : 0, "pcnt-running" : 0.00}
{"interval" : 1.000000000, "counter-value" : "2500.000000", "unit" : "", "event" : "cpu_core/instructions/", \
"event-runtime" : 500000000, "pcnt-running" : 50.00}
{"interval" : 2.000000000, "counter-value" : "1000.000000", "unit" : "", "event" : "cpu_core/cycles/", \
"event-runtime" : 500000000, "pcnt-running" : 50.00}
{"interval" : 2.000000000, "counter-value" : "600.000000", "unit" : "", "event" : "cpu_atom/cycles/", \
"event-runtime" : 500000000, "pcnt-running" : 50.00}
{"interval" : 2.000000000, "counter-value" : "2500.000000", "unit" : "", "event" : "cpu_core/instructions/", \
"event-runtime" : 500000000, "pcnt-running" : 50.00}
{"interval" : 2.000000000, "counter-value" : "300.000000", "unit" : "", "event" : "cpu_atom/instructions/", \
"event-runtime" : 500000000, "pcnt-running" : 50.00}
"""

HYBRID_TEXT = """\
#           time             counts unit events
     1.000000000              1,000      cpu_core/cycles/                                     (50.00%)
     1.000000000      <not counted>      cpu_atom/cycles/                                     (0.00%)
     1.000000000              2,500      cpu_core/instructions/    #    2.50  insn per cycle  (50.00%)
     1.000000000      <not counted>      cpu_atom/instructions/                               (0.00%)
     2.000000000              1,000      cpu_core/cycles/                                     (50.00%)
     2.000000000                600      cpu_atom/cycles/                                     (50.00%)
     2.000000000              2,500      cpu_core/instructions/                               (50.00%)
     2.000000000                300      cpu_atom/instructions/                               (50.00%)
"""


HEADING = "#           time             counts unit events\n"


def rows(text: str, sql: str, folder: Path) -> list[tuple]:
    path = folder / "perf-stat.txt"
    path.write_text(text)
    case = store.open_case(path, folder / "x.case")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT kind FROM import_issue WHERE severity <> 'info'").fetchall() == []
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize("text", [HYBRID_CSV, HYBRID_JSON, HYBRID_TEXT], ids=["csv", "json", "text"])
def test_cores_of_two_kinds_add_up(text: str, tmp_path: Path) -> None:
    """2,500 instructions in 1,000 cycles of one kind; then 2,800 in 1,600 of both, each an estimate from half the time."""
    found = rows(
        text,
        "SELECT (ts_ns + interval_ns) // 1000000000, cycles, instructions, ipc FROM pmcarch ORDER BY ts_ns",
        tmp_path,
    )
    assert found == [(1, 1000, 2500, 2.5), (2, 1600, 2800, 1.75)]


@pytest.mark.parametrize("text", [HYBRID_CSV, HYBRID_JSON, HYBRID_TEXT], ids=["csv", "json", "text"])
def test_the_share_of_time_is_kept(text: str, tmp_path: Path) -> None:
    sql = "SELECT pmu, count, running_ratio FROM pmc_event WHERE event = 'cycles' ORDER BY ts_ns, pmu"
    assert rows(text, sql, tmp_path) == [
        ("cpu_atom", None, 0.0),
        ("cpu_core", 1000.0, 0.5),
        ("cpu_atom", 600.0, 0.5),
        ("cpu_core", 1000.0, 0.5),
    ]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        # perf 4.4: nothing behind the share; sockets and cores without dies.
        ("     1.000000000,CPU3,1000,,cycles,999999,100.00", (3, None, None, "cycles", 1000.0, 1.0)),
        ("     1.000000000,S0,2,1000,,cycles,999999,100.00", (None, "S0", 2, "cycles", 1000.0, 1.0)),
        ("     1.000000000,S0-C1,2,1000,,cycles,999999,25.00", (None, "S0-C1", 2, "cycles", 1000.0, 0.25)),
        # perf 5.4 and later: dies; 6.9: clusters; 6.5: caches.
        ("     1.000000000,S0-D0,2,1000,,cycles,999999,100.00,,", (None, "S0-D0", 2, "cycles", 1000.0, 1.0)),
        ("     1.000000000,S0-D0-CLS4,2,1000,,cycles,999999,100.00,,", (None, "S0-D0-CLS4", 2, "cycles", 1000.0, 1.0)),
        ("     1.000000000,S0-D0-L3-ID0,8,7,,cycles,9,100.00,,", (None, "S0-D0-L3-ID0", 8, "cycles", 7.0, 1.0)),
        ("     1.000000000,N1,4,7,,cycles:u,9,100.00,,", (None, "N1", 4, "cycles:u", 7.0, 1.0)),
        ("     1.000000000,two words-77,7,,cycles,9,100.00,,", (None, "two words-77", None, "cycles", 7.0, 1.0)),
        # As people read it.
        ("     1.000000000 S0-D0-L3-ID0   8   7,000      cycles", (None, "S0-D0-L3-ID0", 8, "cycles", 7000.0, 1.0)),
        ("     1.000000000 CPU12             7,000      cycles", (12, None, None, "cycles", 7000.0, 1.0)),
        # JSON of 5.19 and of 6.16.
        (
            '{"interval" : 1.0, "die" : "S0-D0", "aggregate-number" : 2, "counter-value" : "7.000000", "unit" : "",'
            ' "event" : "cycles", "event-runtime" : 9, "pcnt-running" : 100.00}',
            (None, "S0-D0", 2, "cycles", 7.0, 1.0),
        ),
        (
            '{"interval" : 1.0, "cache" : "S0-D0-L3-ID0", "counters" : 2, "counter-value" : "7.000000", "unit" : "",'
            ' "event" : "cycles", "event-runtime" : 9, "pcnt-running" : 100.00}',
            (None, "S0-D0-L3-ID0", 2, "cycles", 7.0, 1.0),
        ),
    ],
)
def test_one_line(line: str, row: tuple, tmp_path: Path) -> None:
    head = HEADING if line.endswith(" cycles") else ""
    sql = "SELECT cpu, aggregate, cpu_count, event, count, running_ratio FROM pmc_interval"
    assert rows(f"{head}{line}\n", sql, tmp_path) == [row]

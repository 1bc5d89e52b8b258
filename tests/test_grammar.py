"""The grammar of names in tables and views: schema/README.md has it in words."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from perfcase.catalogue.schema import Column, load_catalogue, load_tables
from perfcase.catalogue.views import load_views

ENDS = {
    "ns": "_ns",
    "bytes": "_bytes",
    "pages": "_pages",
    "count": "_count",
    "ratio": "_ratio",
    "cycles": "_cycles",
    "GHz": "_ghz",
    "1/s": "_per_s",
    "bytes/s": "_bytes_per_s",
    "pages/s": "_pages_per_s",
    "bits/s": "_bits_per_s",
    "bytes/h": "_bytes_per_h",
    "1/1000 instructions": "_pki",
    "instructions/cycle": "_ipc",
    "cycles/instruction": "_cpi",
}
"""Each unit, and how a name with it ends."""
STATISTIC = r"(avg|min|max|p\d+|stddev)"
UNIT = f"({'|'.join(end.removeprefix('_') for end in ENDS.values())})"
COUNTERS = re.compile(
    r"cycles|reference_cycles|instructions|branches|slots|ipc|cpi|(branch|dtlb|itlb|l1d|l2|llc)_(misses|loads|references)"
    r"|(machine|memory_ordering)_clears"
)
"""Counters of a CPU that everybody knows by this name."""
TERMS = {"count", "depth", "kernel_depth", "byte_offset", "queue_length", "load_1min", "load_5min", "load_15min", "load_per_cpu",
         "sample_freq"}  # fmt: skip
"""The value of a counter, and terms that say themselves what they count."""


def is_tracepoint(path: Path) -> bool:
    return bool(tomllib.loads(path.read_text(encoding="utf-8")).get("tracepoint"))


def entries() -> dict[str, tuple[Column, ...]]:
    tables = {name: table for name, table in load_tables().items() if not is_tracepoint(table.path)}
    return {name: entry.columns for name, entry in {**tables, **load_catalogue(), **load_views()}.items()}


ENTRIES = entries()


def wrong(column: Column) -> str | None:
    """What the grammar says against a column."""
    name, unit = column.name, column.unit
    if unit not in (None, "varies", *ENDS):
        return f"{unit} is no unit of the grammar"
    if re.match(f"{STATISTIC}_", name) or re.search(f"_{UNIT}_({STATISTIC}|first|last|total)$", name):
        return "a statistic stands between what it is of and the unit"
    if re.search("(^|_)(usr|sys|soft|gnice)_", name):
        return "user, system, softirq, guest_nice"
    if name in TERMS or COUNTERS.fullmatch(name):
        return None
    if unit in ENDS and not name.endswith(ENDS[unit]):
        return f"{unit} is {ENDS[unit]}"
    if unit is None and re.search(f"_{UNIT}$", name):
        return "the name has a unit, the description none"
    return None


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_names_follow_the_grammar(name: str) -> None:
    assert {column.name: why for column in ENTRIES[name] if (why := wrong(column))} == {}


def test_the_grammar_finds_what_is_wrong() -> None:
    assert all(
        wrong(Column(name, "", unit))
        for name, unit in [
            ("p50_ns", "ns"), ("latency_ns_" + "p50", "ns"), ("avg_ns", "ns"), ("us" + "r_ratio", "ratio"), ("read_bytes", "B"),
            ("reads", "count"), ("read_per_s", "bytes/s"), ("wait_ns", None), ("size", "bytes"),
        ]
    )  # fmt: skip
    assert wrong(Column("latency_p50_ns", "", "ns")) is None


@pytest.mark.parametrize(
    "name", sorted(n for n, columns in ENTRIES.items() if "interval_ns" in {c.name for c in columns})
)
def test_an_interval_is_told_by_its_beginning(name: str) -> None:
    (moment,) = (column for column in ENTRIES[name] if column.name == "ts_ns")
    assert re.match(r"[Ww]hen the .*interval began", moment.description)


def test_what_is_written_is_what_is_held() -> None:
    text = (Path(__file__).parents[1] / "schema" / "README.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"`(_\w+)` \[([^\]]+)\]", text))
    assert told == {end: unit for unit, end in ENDS.items()}

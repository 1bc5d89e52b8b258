"""Views over tables that hold the largest numbers that an import can leave there: nothing throws, the findings and the report least of all.

Quantities, which have a unit, are within ``QUANTITY_MAX`` of the importer (columns.rs); a number without one has the range of its type.
Names are those that views look for, so that their rows are not passed over.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from perfcase.case import query
from perfcase.case.kept import have_findings
from perfcase.catalogue.rules import load_rules
from perfcase.catalogue.schema import Column, load_tables, quote
from perfcase.catalogue.views import load_views
from tests.support.cli import succeed
from tests.support.fakecase import make_case
from tests.support.scale import SCALE, scaled

QUANTITY_MAX = 1 << 61
RANGES = {
    "BIGINT": (-(2**63), 2**63 - 1), "UBIGINT": (0, 2**64 - 1), "INTEGER": (-(2**31), 2**31 - 1), "UINTEGER": (0, 2**32 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1), "USMALLINT": (0, 2**16 - 1), "TINYINT": (-128, 127), "UTINYINT": (0, 255),
}  # fmt: skip
KEYS = {
    "utid", "upid", "tid", "pid", "cpu", "snapshot", "source_id", "name_id", "stack_id", "frame_id", "sample_id", "dso_id", "event_id", "depth",
}  # fmt: skip
"""Columns that views join by: few values, so that rows meet."""
ROWS = 16


def names() -> dict[str, list[str]]:
    """The texts that views and rules compare a table's columns with, by table."""
    found: dict[str, list[str]] = {}
    for each in (*load_views().values(), *load_rules().values()):
        for table in load_tables():
            if re.search(rf"\b{table}\b", each.sql):
                found.setdefault(table, []).extend(re.findall(r"'([\w./-]{2,40})'", each.sql))
    return found


def value(rng: random.Random, column: Column, texts: list[str]) -> object:
    kind = column.sql_type
    if column.nullable and rng.random() < 0.1:
        return None
    if kind in RANGES:
        low, high = RANGES[kind]
        if column.name in KEYS:
            return rng.randrange(3)
        if column.unit:
            low, high = max(low, -QUANTITY_MAX), min(high, QUANTITY_MAX)
        return rng.choice([low, high, high, high - 1, high // 2, 0, 1, min(high, rng.randrange(1000))])
    if kind in ("DOUBLE", "FLOAT"):
        return rng.choice([float("nan"), float("inf"), float("-inf"), 1e300, -1e300, 0.0, 1.0])
    if kind == "BOOLEAN":
        return rng.random() < 0.5
    return rng.choice([*texts, "", "a"]) if kind == "VARCHAR" else None


@pytest.fixture(scope="module", params=range(scaled(14)))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(request.param)
    known = names()
    tables = {
        name: [{c.name: value(rng, c, known.get(name, [])) for c in table.columns} for _ in range(ROWS)]
        for name, table in load_tables().items()
    }
    return make_case(tmp_path_factory.mktemp("extremes") / "x.case", tables)


def test_every_view_answers(case: Path) -> None:
    failed = {}
    with query.connect(case) as connection:
        assert have_findings(connection) == []  # a rule at a time, as the commands do
    with query.connect(case) as connection:
        if SCALE < 1:
            # A quarter of the 100,000 intervals of each device: for them a view alone takes 20 s.
            connection.execute(f"SET VARIABLE interval_ns = {90 * 10**12}")
        for name in load_views().keys() - {"finding"}:
            try:
                connection.execute(f"SELECT * FROM {quote(name)}").fetchall()
            except Exception as error:
                failed[name] = str(error).splitlines()[0]
    assert failed == {}


def test_the_report_and_its_json(case: Path) -> None:
    assert "cannot be worked out" not in succeed("report", case)
    assert json.loads(succeed("report", case, "-f", "json"))["format"] == "perfcase-report"

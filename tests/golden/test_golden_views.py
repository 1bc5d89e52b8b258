"""Every view on every sample capture, row by row: tests/golden/views/<capture>/<view>.csv, which `make bless` writes.

A file holds the first rows in the view's own order, long cells cut; where that is not all, its last line has the number of
rows and the SHA-256 of all of them uncut. So a change of any row of any view shows, and a diff can be read. Views with a row
for each view, table or rule have all their rows there, each a line for itself: who adds a view adds lines and changes none.

Views that describe views (``metric_definition``) are the same for every capture; other tests hold them to the schema.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.case.coverage import why_empty
from perfcase.case.sharing import FINDINGS, share_findings
from perfcase.catalogue import contents
from perfcase.catalogue.schema import literal, load_tables, quote
from perfcase.catalogue.views import create_view, load_views, referenced_names
from tests.conftest import Golden
from tests.support.imports import imported
from tests.support.viewtest import render

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "views"
# Two captures hold every source between them; the case studies' captures are held by tests/cases.
SAMPLES = {name: ROOT / "sample-captures" / name / "x.perfcase" for name in ("aarch64-counters", "x86_64-scheduling")}

ROWS_MAX = 40
CELL_MAX = 160
A_ROW_EACH = {"view_coverage", "finding_coverage"}
"""Views whose rows are what the schema has: as a set of lines, which grows in any order (.gitattributes)."""
LISTS_OF_NAMES = {"data_quality": "empty_views"}
"""A column that names whatever view is empty; test_what_is_empty_for_want_of_a_source holds it."""


def of_a_capture(name: str) -> bool:
    """Whether the view says something of the capture, and not only of the schema."""
    return bool(base_tables(name) & load_tables().keys())


def base_tables(name: str) -> set[str]:
    """The tables that a view is made from in the end."""
    views = load_views()
    return {t for n in referenced_names(views[name]) for t in (base_tables(n) if n in views else {n})}


VIEWS = sorted(filter(of_a_capture, load_views()))


@dataclass(frozen=True)
class Sample:
    """An imported sample capture."""

    name: str
    folder: Path


@pytest.fixture(scope="module", params=sorted(SAMPLES))
def case(request: pytest.FixtureRequest) -> Sample:
    return Sample(request.param, imported(SAMPLES[request.param]).folder)


@pytest.fixture(scope="module")
def connection(case: Sample) -> Iterator[duckdb.DuckDBPyConnection]:
    with query.connect(case.folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def findings(case: Sample) -> Iterator[duckdb.DuckDBPyConnection]:
    """Who reads the findings has them so: one rule after the other, as all in one plan take the memory of all."""
    with query.connect(case.folder) as opened:
        assert share_findings(opened) == []
        yield opened


@pytest.fixture(scope="module")
def coverage(connection: duckdb.DuckDBPyConnection) -> dict[str, bool]:
    """Whether each view is fed."""
    rows = connection.execute("SELECT view_name, is_fed FROM view_coverage WHERE kind = 'view'").fetchall()
    # Worked out once, and not again for each view that is empty.
    connection.execute("CREATE TEMP TABLE view_coverage AS FROM view_coverage")
    return dict(rows)


@pytest.fixture(scope="module")
def upside_down(case: Sample) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same views over tables whose rows stand in reverse."""
    with duckdb.connect() as opened:
        query.avoid_faults(opened)
        for name in load_tables():
            file = literal(str(case.folder / "tables" / f"{name}.parquet"))
            opened.execute(
                f"CREATE TABLE {quote(name)} AS SELECT * EXCLUDE (file_row_number)"
                f" FROM read_parquet({file}, file_row_number = true) ORDER BY file_row_number DESC"
            )
        contents.add(opened, literal(str(case.folder / "tables" / "*.parquet")))
        for view in load_views().values():
            if of_a_capture(view.name):
                create_view(opened, view)
        yield opened


@pytest.mark.parametrize(
    # The halves of call_path, whose golden has their rows; each half's .test says which rows and columns it takes.
    "view",
    [pytest.param(view, marks=pytest.mark.long if view in ("callees", "callers") else ()) for view in VIEWS],
)
def test_view_of_a_sample_capture(
    case: Sample,
    connection: duckdb.DuckDBPyConnection,
    findings: duckdb.DuckDBPyConnection,
    coverage: dict[str, bool],
    view: str,
    golden: Golden,
) -> None:
    lines = lines_of(findings if view in FINDINGS else connection, view)
    text = listed(lines) if view in A_ROW_EACH else shown(lines)
    golden(f"views/{case.name}/{view}.csv", text, is_set=view in A_ROW_EACH)
    if text.count("\n") > 1:
        assert coverage.get(view, True), "it has rows, but view_coverage says that it cannot"
    else:
        assert why_empty(connection, view)


# Each view's own .test has its rows go in in reverse as well, with a few rows, whenever it runs.
@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS)
def test_the_order_of_the_tables_rows_does_not_matter(
    case: Sample, upside_down: duckdb.DuckDBPyConnection, view: str
) -> None:
    lines = lines_of(upside_down, view)
    text = listed(lines) if view in A_ROW_EACH else shown(lines)
    assert text == (FOLDER / case.name / f"{view}.csv").read_text(encoding="utf-8")


def test_coverage_speaks_of_every_view(connection: duckdb.DuckDBPyConnection, coverage: dict[str, bool]) -> None:
    # These two say it of the others, and always have rows.
    assert coverage.keys() == set(VIEWS) - A_ROW_EACH


def test_what_is_empty_for_want_of_a_source(connection: duckdb.DuckDBPyConnection) -> None:
    listed = connection.execute("SELECT source, empty_views FROM data_quality WHERE empty_views IS NOT NULL").fetchall()
    told = {(source, view) for source, views in listed for view in views.split(", ")}
    unfed = connection.execute(
        "SELECT sources, view_name FROM view_coverage WHERE kind = 'view' AND NOT is_fed"
    ).fetchall()
    there = {source for (source,) in connection.execute("SELECT name FROM source").fetchall()}
    assert told == {(source, view) for sources, view in unfed for source in sources.split(", ") if source in there}
    assert told


@pytest.mark.usefixtures("golden")
def test_there_is_a_golden_for_each_view_and_nothing_else(request: pytest.FixtureRequest) -> None:
    wanted = {f"{sample}/{view}.csv" for sample in SAMPLES for view in VIEWS}
    found = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.csv")}
    if request.config.getoption("--bless"):
        for name in found - wanted:
            (FOLDER / name).unlink()
        found &= wanted
    assert sorted(found ^ wanted) == [], "see make bless"


def lines_of(connection: duckdb.DuckDBPyConnection, view: str) -> Iterator[list[str]]:
    """Heading and rows as text, in the view's own order; of a view without one, in the order of all its columns."""
    # A view may also sort its rows before it makes their texts.
    ordered = re.search(
        r"^ORDER BY|^  FROM \(FROM \w+ ORDER BY|^    ORDER BY .+\n  \) AS c$", load_views()[view].sql, re.MULTILINE
    )
    columns = f"* EXCLUDE {LISTS_OF_NAMES[view]}" if view in LISTS_OF_NAMES else "*"
    cursor = connection.execute(f"SELECT {columns} FROM {quote(view)}{'' if ordered else ' ORDER BY ALL'}")
    yield [column[0] for column in cursor.description or ()]
    while rows := cursor.fetchmany(5000):
        for row in rows:
            # The last digits of a sum of floats depend on the order in which DuckDB adds.
            yield [format(value, ".9g") if isinstance(value, float) else render(value) for value in row]


def listed(lines: Iterable[list[str]]) -> str:
    """The golden's text of a view with a row for each name: every line, whole."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def shown(lines: Iterable[list[str]]) -> str:
    """The golden's text of any other view."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    digest = hashlib.sha256()
    number, is_cut = -1, False
    for number, line in enumerate(lines):
        digest.update("\t".join(line).encode(errors="backslashreplace") + b"\n")
        if number <= ROWS_MAX:
            writer.writerow([cell if len(cell) <= CELL_MAX else cell[: CELL_MAX - 1] + "…" for cell in line])
            is_cut |= any(len(cell) > CELL_MAX for cell in line)
    if number > ROWS_MAX or is_cut:
        text.write(f"# {number} rows, SHA-256 of all {digest.hexdigest()}\n")
    return text.getvalue()

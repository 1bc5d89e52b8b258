"""Every view on every sample capture, row by row: tests/golden/views/<capture>/<view>.csv, which `make bless` writes.

A file holds the first rows in the view's own order, long cells cut; where that is not all, its last line has the number of
rows and the SHA-256 of all of them uncut. So a change of any row of any view shows, and a diff can be read.

Views that describe views (``metric_definition``) are the same for every capture; other tests hold them to the schema.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import duckdb
import pytest

from perfcase import catalogue, store
from perfcase.coverage import why_empty
from perfcase.schema import literal, load_tables, quote
from perfcase.views import create_view, load_views, referenced_names
from tests.support.viewtest import render

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "views"
# Two captures hold every source between them; the case studies' captures are held by tests/cases.
SAMPLES = {name: ROOT / "sample-captures" / name / "x.perfcase" for name in ("aarch64-counters", "x86_64-scheduling")}

ROWS_MAX = 40
CELL_MAX = 160


def of_a_capture(name: str) -> bool:
    """Whether the view says something of the capture, and not only of the schema."""
    return bool(base_tables(name) & load_tables().keys())


def base_tables(name: str) -> set[str]:
    """The tables that a view is made from in the end."""
    views = load_views()
    return {t for n in referenced_names(views[name]) for t in (base_tables(n) if n in views else {n})}


VIEWS = sorted(filter(of_a_capture, load_views()))


@pytest.fixture(scope="module", params=sorted(SAMPLES))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> store.Case:
    copy = tmp_path_factory.mktemp("golden") / f"{request.param}.perfcase"
    shutil.copy(SAMPLES[request.param], copy)
    return store.open_case(copy)


@pytest.fixture(scope="module")
def connection(case: store.Case) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def upside_down(case: store.Case) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same views over tables whose rows stand in reverse."""
    with duckdb.connect() as opened:
        for name in load_tables():
            file = literal(str(case.folder / "tables" / f"{name}.parquet"))
            opened.execute(
                f"CREATE TABLE {quote(name)} AS SELECT * EXCLUDE (file_row_number)"
                f" FROM read_parquet({file}, file_row_number = true) ORDER BY file_row_number DESC"
            )
        catalogue.add(opened, literal(str(case.folder / "tables" / "*.parquet")))
        for view in load_views().values():
            if of_a_capture(view.name):
                create_view(opened, view)
        yield opened


@pytest.mark.parametrize("view", VIEWS)
def test_view_of_a_sample_capture(
    case: store.Case, connection: duckdb.DuckDBPyConnection, view: str, golden: Callable[[str, str], None]
) -> None:
    golden(f"views/{case.folder.stem}/{view}.csv", shown(lines_of(connection, view)))


@pytest.mark.parametrize("view", VIEWS)
def test_the_order_of_the_tables_rows_does_not_matter(
    case: store.Case, upside_down: duckdb.DuckDBPyConnection, view: str
) -> None:
    assert shown(lines_of(upside_down, view)) == (FOLDER / case.folder.stem / f"{view}.csv").read_text(encoding="utf-8")


def test_views_that_cannot_be_fed_are_empty_and_empty_views_are_explained(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    coverage = connection.execute("SELECT view_name, is_fed FROM view_coverage WHERE kind = 'view'").fetchall()
    # These two say it of the others, and always have rows.
    assert {name for name, _ in coverage} == set(VIEWS) - {"view_coverage", "finding_coverage"}
    for name, is_fed in coverage:
        if name in VIEWS and not connection.execute(f"SELECT 1 FROM {quote(name)} LIMIT 1").fetchone():
            assert why_empty(connection, name), name
        elif name in VIEWS:
            assert is_fed, f"{name} has rows, but view_coverage says that it cannot"


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
    ordered = re.search("^ORDER BY", load_views()[view].sql, re.MULTILINE)
    cursor = connection.execute(f"SELECT * FROM {quote(view)}{'' if ordered else ' ORDER BY ALL'}")
    yield [column[0] for column in cursor.description or ()]
    while rows := cursor.fetchmany(5000):
        for row in rows:
            # The last digits of a sum of floats depend on the order in which DuckDB adds.
            yield [format(value, ".9g") if isinstance(value, float) else render(value) for value in row]


def shown(lines: Iterable[list[str]]) -> str:
    """The golden's text."""
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

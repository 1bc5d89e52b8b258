"""Works out once what several views are made from.

DuckDB puts the SELECT of a view into each SELECT that names it, as often as it is named, and plans every copy: of a small
capture that takes longer than to answer. What is larger than the memory that a question may take, DuckDB puts into a file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache

from perfcase.case.parsed import parsed
from perfcase.case.query import sql_error, whole
from perfcase.case.window import is_cut
from perfcase.catalogue.rules import Rule, enough, fired, fired_columns, judged, load_rules, sorted_findings
from perfcase.catalogue.schema import literal, load_tables, quote
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views, with_dependencies
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

_NEVER = ("stack_weight", "fd_call", "run_queue_wait")
"""The rows of the first are long: the names of all functions of each callchain. Those of the others are as many as the calls and waits, and quickly
made."""
_NOT_OF_THE_WHOLE = "followed_state"
"""To copy all states takes longer than to read them for each reader; in a part, each reader would have to cut them."""
_COVERAGE = "view_coverage"
FINDINGS = ("finding", "finding_coverage")
"""Views that are made of all rules."""
_TABLE_ROWS_MAX = 200_000
"""A table of more rows stays in its file: what is asked of it takes longer than to plan it, and a copy takes memory."""

_MADE_ROWS_MAX = 1_000_000
"""A view of more rows is worked out twice, for its figures: its table would take the disk instead."""


def share(connection: duckdb.DuckDBPyConnection, wanted: Iterable[str]) -> None:
    """Make temporary tables of what is read more than once for the ``wanted`` tables and views, each as often as it is among
    them: such a table stands before a view of its name, until ``forget``. Parameters of views are those that are set now."""
    _share(connection, Counter([*wanted]), load_rules().values())


def _share(
    connection: duckdb.DuckDBPyConnection, wanted: Counter[str], rules: Collection[Rule], idle: Collection[str] = ()
) -> None:
    """``rules``: those that the views of the findings are made of; ``idle``: views that are known to have no rows."""
    tables, views = _read_often(load_views(), wanted, rules)
    if whole(connection) and wanted[_NOT_OF_THE_WHOLE] < 2:
        views = [name for name in views if name != _NOT_OF_THE_WHOLE]
    there = made(connection)
    shared = [name for name in (*_short(connection, tables), *views) if name not in there]
    # DuckDB plans a view that has nothing to show as long as any other.
    unfed = {*idle, *(_unfed(connection) if _COVERAGE in there else ())}
    _make_empty(connection, [name for name in shared if name in unfed])
    for name in shared:
        if name in unfed:
            continue
        try:
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(name)} AS FROM {quote(name)}").fetchall()
        except duckdb.Error as error:
            # What cannot be worked out is left to its readers, who say so.
            if isinstance(error, duckdb.InterruptException):
                raise


def make(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    """Make a temporary table of one view, as ``share`` does, unless it has very many rows.

    Raises:
        duckdb.Error: the view cannot be worked out, or its rows not be put aside.
    """
    limited = f"FROM {quote(view)} LIMIT {_MADE_ROWS_MAX + 1}"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(view)} AS {limited}").fetchall()
    if made(connection)[view] > _MADE_ROWS_MAX:
        connection.execute(f"DROP TABLE temp.{quote(view)}").fetchall()


def _unfed(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the views that cannot have rows, because a table that they need has none. The findings are no such views: they are of rules."""
    rows = connection.execute(f"SELECT view_name FROM {_COVERAGE} WHERE kind = 'view' AND NOT is_fed").fetchall()
    return {name for (name,) in rows} - {*FINDINGS}


def without_rows(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return views that cannot have rows and rules that cannot fire, as no row has the values that they ask for. The files say at their ends which these
    are; none where one cannot be read."""
    needed: dict[str, dict[int, dict[tuple[str, str | None], set[str]]]] = {}
    for view, alternative, table, column, value in connection.execute("FROM needed_value").fetchall():
        needed.setdefault(view, {}).setdefault(alternative, {}).setdefault((table, column), set()).add(value)
    is_whole = whole(connection) is not None
    try:
        rows = dict(connection.execute("FROM table_rows").fetchall())
        values = {(t, c): {*v} for t, c, v in connection.execute("FROM column_values").fetchall()}
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        return set()

    def is_there(table: str, column: str | None, wanted: set[str]) -> bool:
        # A part may have a row of a derived table where the whole has none.
        if not is_whole and load_tables()[table].derived:
            return True
        return rows.get(table, 0) > 0 and not wanted.isdisjoint(values.get((table, column), wanted))

    return {
        view
        for view, alternatives in needed.items()
        if not any(all(is_there(*place, wanted) for place, wanted in one.items()) for one in alternatives.values())
    }


def _make_empty(connection: duckdb.DuckDBPyConnection, views: Collection[str]) -> None:
    if not views:
        return
    columns = types(connection)
    for name in views:
        listed = ", ".join(f"{quote(column)} {kind}" for column, kind in columns[name].items())
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(name)} ({listed})").fetchall()


def types(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """Return the types of the columns of all tables and views, by their names: in one statement, as DESCRIBE plans a view."""
    asked = (
        "SELECT table_name, column_name, data_type FROM duckdb_columns()"
        " WHERE NOT internal AND database_name <> 'temp' ORDER BY table_name, column_index"
    )
    found: dict[str, dict[str, str]] = {}
    for name, column, kind in connection.execute(asked).fetchall():
        found.setdefault(name, {})[column] = kind
    return found


def share_findings(connection: duckdb.DuckDBPyConnection, later: Iterable[str] = ()) -> list[PerfcaseError]:
    """Make temporary tables of the findings: one rule after the other, as all at once take the memory of all. A rule that
    cannot fire is not asked: its tables have no rows, or none with the values that it asks for. ``later``: views that are asked for next, as ``share`` has them: what both read is worked out once.

    Return why rules could not be worked out, which are then not judged; the others are.

    Raises:
        duckdb.InterruptException: somebody stopped it.
        duckdb.Error: what all rules need cannot be worked out.
    """
    connection.execute("CREATE OR REPLACE TEMP TABLE view_coverage AS FROM view_coverage").fetchall()
    fed = {name for (name,) in connection.execute("SELECT view_name FROM view_coverage WHERE is_fed").fetchall()}
    idle = without_rows(connection)
    rules = [rule for rule in load_rules().values() if rule.name in fed]
    # What a rule asks to see whether it can judge, it reads besides its sources.
    words = {word for rule in rules for word in re.findall(r"\w+", rule.judged_when or "")}
    asked = [name for name in load_views() if name in words]
    rules = [rule for rule in rules if rule.name not in idle]
    _share(connection, Counter(["finding", *asked, *(name for name in later if name in fed)]), rules, idle)
    for table in (
        f"fired ({fired_columns()})",
        "enough (finding VARCHAR, is_enough BOOLEAN, failure VARCHAR)",
    ):
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {table}").fetchall()
    failures = []
    known = []
    for rule in load_rules().values():
        is_enough, failure = "NULL", "NULL"
        if rule.name in fed:
            try:
                is_enough = "true"
                if rule.judged_when:
                    ((_, found, _),) = connection.execute(parsed(connection, enough(rule))).fetchall()
                    is_enough = "NULL" if found is None else str(found)
                if rule.name not in idle:
                    connection.execute(parsed(connection, _insert(rule))).fetchall()
            except duckdb.Error as error:
                if isinstance(error, duckdb.InterruptException):
                    raise
                failures.append(sql_error(error))
                is_enough, failure = "NULL", literal(str(failures[-1]))
        known.append(f"({literal(rule.name)}, {is_enough}, {failure})")
    connection.execute(f"INSERT INTO enough VALUES {', '.join(known)}").fetchall()
    connection.execute(f"CREATE OR REPLACE TEMP TABLE finding AS {sorted_findings('fired')}").fetchall()
    connection.execute(f"CREATE OR REPLACE TEMP TABLE finding_coverage AS {judged('enough')}").fetchall()
    for table in ("fired", "enough"):
        connection.execute(f"DROP TABLE temp.{table}").fetchall()
    return failures


def statements() -> Iterator[str]:
    """Yield those of ``share_findings`` that are long."""
    for rule in load_rules().values():
        yield _insert(rule)
        if rule.judged_when:
            yield enough(rule)


def _insert(rule: Rule) -> str:
    return f"INSERT INTO fired BY NAME {fired(rule)}"


def forget(connection: duckdb.DuckDBPyConnection, *, is_all: bool = False) -> None:
    """Drop the tables of ``share`` that have other rows in another window. ``is_all``: the others, too, except the findings, which are
    checked when they are read."""
    for name in made(connection):
        if name not in FINDINGS if is_all else _has_time(name):
            connection.execute(f"DROP TABLE temp.{quote(name)}").fetchall()


def made(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return by name how many rows each table of ``share`` has."""
    return dict(connection.execute("SELECT table_name, estimated_size FROM duckdb_tables() WHERE temporary").fetchall())


@cache
def _has_time(name: str) -> bool:
    """Return whether a table, or one that a view is made from, has other rows in another window. Names and callchains do not."""
    views = load_views()
    read = {name, *(source for view in with_dependencies(views, [name]).values() for source in view.sources)}
    return any(is_cut(table) for table in read - views.keys())


def _read_often(views: dict[str, View], wanted: Counter[str], rules: Collection[Rule]) -> tuple[list[str], list[str]]:
    """Return tables, and views in the order in which they are made from each other."""
    asked = [rule.view() for rule in rules] if wanted.keys() & set(FINDINGS) else []
    # The findings read what their rules read, and no rule more than those.
    names = [name for name in wanted if name != "finding"] + [name for rule in asked for name in rule.sources]
    closure = with_dependencies(views, names)
    # The view of what could be judged reads tables and views besides those of the rules.
    readers = [view for name, view in closure.items() if name != "finding"] + asked
    reads = Counter(wanted)
    reads.update(name for reader in readers for name in {*reader.sources})
    often = {name for name, count in reads.items() if count > 1 and name not in (*FINDINGS, *_NEVER)}
    return sorted(often - views.keys()), [name for name in closure if name in often]


def _short(connection: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> list[str]:
    """Return those of the tables that have few rows; none where a table cannot be read."""
    rows: dict[str, int] = {}
    with suppress(duckdb.Error):
        rows = dict(connection.execute("FROM table_rows").fetchall())
    return [name for name in tables if rows.get(name, _TABLE_ROWS_MAX + 1) <= _TABLE_ROWS_MAX]

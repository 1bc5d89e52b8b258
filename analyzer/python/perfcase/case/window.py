"""A part of a capture as if it were a whole one: the same tables and views, cut to a window.

A window is a database of its own whose tables read the same Parquet files through a filter; its bounds are two variables, so
moving it costs nothing. Which rows of a table stand in it, and what becomes of their columns, its description says: ``window``
and ``in_window`` in schema/tables. So there are:

- an event: when its time is in it. Times count from the window's beginning.
- a state (thread_state): clipped to the window, as ``perf sched timehist --time`` does, so that windows add up to the whole.
- a system call: clipped at the window's beginning; one that has not returned at its end is open, as at a capture's end.
- a block request: when it completed, or was issued, in it; its latency is whole.
- an interval of perf stat: where its middle is; a sample of a profile and what belongs to it: where its time is.
- a snapshot of /proc: when it was read in it. For descriptors and sockets also the last snapshot before: its time is
  negative.
- what is known of processes, threads, control groups, files and the machine stays, whenever that was read.
"""

from __future__ import annotations

import glob
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import cache
from pathlib import Path

from perfcase.case.database import checkpoint, in_cache, views_hash
from perfcase.case.query import count, lock_down, sql_errors
from perfcase.case.scope import Scope
from perfcase.case.store import Case
from perfcase.catalogue.schema import load_tables, quote
from perfcase.catalogue.views import load_views, with_dependencies
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

_START = "getvariable('window_start_ns')::BIGINT"
_END = "getvariable('window_end_ns')::BIGINT"

_FOREVER = 1 << 62

WINDOWS: Mapping[str, str | None] = {
    "event": "ts_ns >= {start} AND ts_ns < {end}",
    "sample": "sample_id IN (SELECT sample_id FROM sample)",
    "last": "ts_ns < {end} AND (ts_ns >= {start} OR snapshot = (SELECT max(snapshot) FROM ({rows}) WHERE ts_ns <= {start}))",
    # As the table's ``derived`` makes them of the other tables in the window.
    "derived": "true",
    "name": None,
    "whole": None,
}
"""By the word of a table's ``window``, which of its rows are in one. None: all."""
COLUMNS: Mapping[str, str] = {
    "moved": "{this} - {start}",
    "null_before": "CASE WHEN {this} >= {start} THEN {this} - {start} END",
    "null_after": "CASE WHEN {this} < {end} THEN {this} - {start} END",
    "clip_before": "CASE WHEN {this} < {start} THEN 0 ELSE {this} - {start} END",
    "clip_after": "CASE WHEN {this} >= {end} THEN {end} - {start} ELSE {this} - {start} END",
    "null_open": "CASE WHEN {ended} THEN {this} END",
}
"""By the word of a column's ``in_window``, what it shows."""


def open_scope(case: Case, scope: Scope, sharers: int = 1, *, is_counted: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a connection to the tables and views of ``case`` as if it held nothing but that part of it. ``is_counted``: as in
    ``perfcase.case.query.connect``."""
    if scope.part is None:
        return _open(case, None, scope, sharers, is_counted=is_counted)
    start_ns = scope.part.start_ns
    end_ns = _FOREVER if scope.part.end_ns is None else scope.part.end_ns
    connection = _open(case, (start_ns, end_ns), scope, sharers, is_counted=is_counted)
    ((duration_ns,),) = connection.execute("SELECT duration_ns FROM capture").fetchall()
    if duration_ns <= 0 < start_ns:
        raise PerfcaseError("usage", f"{case.name}: it ends before {start_ns / 1e9:g} s")
    return connection


def open_window(
    case: Case, start_ns: int, end_ns: int, scope: Scope | None = None, sharers: int = 1
) -> duckdb.DuckDBPyConnection:
    """Return a connection to the tables and views of ``case``, cut to [start_ns, end_ns); ``move`` makes it another window.

    All of ``scope`` but its time is taken. ``sharers`` of such connections work at once.
    """
    return _open(case, (start_ns, end_ns), scope or Scope(), sharers)


def _open(
    case: Case, window: tuple[int, int] | None, scope: Scope, sharers: int, *, is_counted: bool = False
) -> duckdb.DuckDBPyConnection:
    """Open the part. ``window``: None for the whole capture."""
    chosen = _kept(scope)
    with tempfile.TemporaryDirectory(prefix="perfcase-") as scratch:
        path = Path(scratch) / "window.duckdb"
        try:
            with sql_errors():
                shutil.copyfile(_template(case, window is not None, sorted(chosen)), path)
                # The file is gone when this returns; DuckDB holds it open for as long as the connection lives.
                connection = duckdb.connect(str(path), read_only=True)
                folder = case.folder.resolve()
                for name, (values, kind) in chosen.items():
                    connection.execute(f"SET VARIABLE scope_{name} = $1::{kind}[]", [list(values)])
                if window:
                    table = glob.escape(str(folder / "tables" / "capture.parquet"))
                    connection.execute(
                        "SET VARIABLE capture_duration_ns = (SELECT duration_ns FROM read_parquet($1))::BIGINT", [table]
                    )
                    move(connection, *window)
                if is_counted:
                    count(connection)
                lock_down(connection, folder, sharers)
        except OSError as error:
            raise PerfcaseError("environment", f"{path}: cannot be written: {error.strerror or error}") from error
    return connection


def _template(case: Case, is_window: bool, chosen: Sequence[str]) -> Path:
    """Create ``case.duckdb`` with its tables cut, except those without rows: each takes DuckDB 2 ms."""
    # Loaded here: most commands need no window.
    from importlib.metadata import version

    whole = case.folder / "case.duckdb"
    empty = sorted(name for name, rows in case.info["tables"].items() if rows == 0)

    def make(_: Path, path: Path) -> None:
        shutil.copyfile(whole, path)
        with duckdb.connect(str(path)) as writer:
            writer.execute("SET VARIABLE case_dir = $1", [str(case.folder.resolve())])
            _cut(writer, is_window, chosen, set(empty))
            checkpoint(writer)

    with whole.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return in_cache("window", json.dumps([_method(), version("duckdb"), content, is_window, chosen, empty]), make)


@cache
def _method() -> str:
    """Return how windows are cut: a kept window depends on it."""
    return Path(__file__).read_text() + views_hash()


def move(connection: duckdb.DuckDBPyConnection, start_ns: int, end_ns: int) -> None:
    """Make an open window another one of the same capture. The last window has what came after the capture's end, too."""
    connection.execute(f"SET VARIABLE window_start_ns = {int(start_ns)}::BIGINT")
    connection.execute(
        f"SET VARIABLE window_end_ns = (CASE WHEN {int(end_ns)} >= getvariable('capture_duration_ns')"
        f" THEN {_FOREVER} ELSE {int(end_ns)} END)::BIGINT"
    )


_CHANGING = {
    "process": {"utid", "upid", "name_id"},
    "thread": {"utid", "upid", "name_id"},
    "cpu": {"cpu"},
    "cgroup": {"utid", "upid", "name_id", "cgroup"},
}
"""By a scope's key: the columns by whose values ``_kept`` leaves rows out."""


def _kept(scope: Scope) -> dict[str, tuple[Sequence[object], str]]:
    """Return by column the values whose rows stay, and their type."""
    given = {
        "utid": (scope.utids, "UINTEGER"),
        "upid": (scope.upids, "UINTEGER"),
        "name_id": (scope.other_name_ids, "UINTEGER"),
        "cpu": (scope.cpus, "UINTEGER"),
        "cgroup": (scope.cgroups, "VARCHAR"),
    }
    return {column: (values, kind) for column, (values, kind) in given.items() if values is not None}


def _cut(connection: duckdb.DuckDBPyConnection, is_window: bool, chosen: Iterable[str], empty: Set[str]) -> None:
    """Replace the tables of a copy of case.duckdb by their windows."""
    found = connection.execute(
        "SELECT view_name, sql, (SELECT list(column_name ORDER BY column_index) FROM duckdb_columns() c"
        " WHERE c.database_name = v.database_name AND c.table_name = v.view_name)"
        " FROM duckdb_views() v WHERE NOT internal AND sql LIKE '%read_parquet(%'"
    ).fetchall()
    connection.begin()
    for name, sql, columns in found:
        # A part may have a row of a derived table where the whole has none.
        if name in empty and _window(name, columns) != "derived":
            continue
        shown = _shown(name, _body(sql), columns, is_window, chosen)
        if shown:
            connection.execute(f"CREATE OR REPLACE VIEW {quote(name)} AS {shown}")
    connection.commit()


def _body(sql: str) -> str:
    """Return the SELECT of a view's CREATE VIEW statement."""
    return re.sub(r"\A.*?\bAS (?=SELECT\b)", "", sql.strip().rstrip(";"), count=1, flags=re.DOTALL)


def _shown(table: str, body: str, columns: Sequence[str], is_window: bool, kept: Iterable[str]) -> str | None:
    """Return the SELECT of a table's rows in the window and the scope; None where all of them are.

    ``kept``: columns that the scope chooses by. A row without a time is in no window, and stays where none was asked for.
    """
    if (found := load_tables().get(table)) and found.derived:
        return found.derived
    names = set(columns)
    window = _window(table, names)
    changed = _changed(table, columns) if is_window else {}
    # What belongs to a sample goes where the sample goes: by a scope, too.
    rows = WINDOWS.get(window, window) if is_window or window == "sample" else None
    condition = rows and rows.format(start=_START, end=_END, rows=body)
    # What others are called is known in any scope: wakers and peers have their names.
    of_scope = [name for name in kept if name in names and window != "name"]
    if "utid" in of_scope and "upid" in of_scope:
        of_scope.remove("upid")
    chosen = [f"{name} IN (SELECT unnest(getvariable('scope_{name}')))" for name in of_scope if name != "name_id"]
    if "name_id" in of_scope:
        # By a join, as above: a list is searched for each row, and an untrusted capture may have a million names.
        chosen.append("coalesce(name_id NOT IN (SELECT unnest(getvariable('scope_name_id'))), true)")
    if found and found.named and chosen:
        # A key's own columns stay NULL in rows of others: they are in no process of the scope.
        mine = " AND ".join(f"({part})" for part in chosen)
        shown = {*found.named, *(column.name for column in found.columns if column.is_key)}
        changed |= {
            name: f"CASE WHEN {mine} THEN {changed.get(name, quote(name))} END" for name in columns if name not in shown
        }
        chosen = []
    condition = " AND ".join(f"({part})" for part in (condition, *chosen) if part)
    if not changed and not condition:
        return None
    listed = ", ".join(f"{changed[name]} AS {quote(name)}" if name in changed else quote(name) for name in columns)
    where = f" WHERE {condition}" if condition else ""
    return f"SELECT {listed} FROM ({body}) AS whole{where}"


def is_cut(table: str) -> bool:
    """Whether a window has other rows of a table than the whole capture; a table that the schema does not have may have."""
    found = load_tables().get(table)
    if found is None or WINDOWS.get(found.window, found.window):
        return True
    return any(column.in_window or _is_time(column.name) for column in found.columns)


def changed_by(view: str) -> list[str]:
    """Return which keys of ``perfcase.case.scope`` give a view other rows than the whole capture has, besides the window."""
    views = load_views()
    needed = with_dependencies(views, [view])
    tables = {name for each in needed.values() for name in each.sources if name not in views}
    found: set[str] = set()
    for name in tables:
        table = load_tables().get(name)
        if table is None or table.derived or table.window == "sample":
            return list(_CHANGING)
        columns = {column.name for column in table.columns} if table.window != "name" else set()
        found |= {key for key, chosen in _CHANGING.items() if columns & chosen}
    return [key for key in _CHANGING if key in found]


def _window(table: str, columns: Collection[str]) -> str:
    """Return the table's own ``window``; of one that the schema does not have, of a tracepoint, what its columns allow."""
    if found := load_tables().get(table):
        return found.window
    return "event" if "ts_ns" in columns else "sample" if "sample_id" in columns else "whole"


def _changed(table: str, columns: Sequence[str]) -> dict[str, str]:
    """Return SQL of the columns that a window changes."""
    ways = {name: "moved" for name in columns if _is_time(name)}
    places = {"start": _START, "end": _END}
    if found := load_tables().get(table):
        ways |= {each.name: each.in_window for each in found.columns if each.in_window and each.name in columns}
        places["ended"] = (found.ended or "NULL").format(**places)
    return {name: COLUMNS.get(way, way).format(this=quote(name), **places) for name, way in ways.items()}


def _is_time(column: str) -> bool:
    return column == "ts_ns" or column.endswith("_ts_ns")

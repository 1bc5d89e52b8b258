"""A part of a capture as if it were a whole one: the same tables and views, cut to a window.

A window is a database of its own whose tables read the same Parquet files through a filter; its bounds are two variables, so
moving it costs nothing. What stands in the window:

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
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from perfcase.case.database import checkpoint, in_cache
from perfcase.case.query import lock_down, sql_errors
from perfcase.case.scope import Scope
from perfcase.case.store import Case
from perfcase.catalogue.schema import load_tables, quote
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

_START = "getvariable('window_start_ns')::BIGINT"
_END = "getvariable('window_end_ns')::BIGINT"

_FOREVER = 1 << 62
_KNOWN_ALWAYS = frozenset(
    {"proc_command", "proc_limit", "proc_net_link", "thread_name", "thread_namespace", "kernel_text", "kernel_message"}
)
"""Tables of what something is called or may do: rows from outside of the window tell of the time in it."""
_LAST_BEFORE = frozenset({"proc_fd", "proc_socket"})
"""Tables whose snapshots are rare, and name what others use by number."""

_NAMES = _KNOWN_ALWAYS | {"process", "thread"}
"""Tables that say what others are called: wakers and peers have their names in any scope."""


@dataclass(frozen=True)
class _Cut:
    """How a table is cut: SQL of the columns that change, and which rows stay."""

    changed: Mapping[str, str]
    condition: str | None = None


_RETURNED = f"exit_ts_ns < {_END}"
_COMPLETED = f"completed_ts_ns < {_END}"
_WOKEN = f"ts_ns + duration_ns <= {_END}"
_LIFETIME = {
    "start_ts_ns": f"CASE WHEN start_ts_ns >= {_START} THEN start_ts_ns - {_START} END",
    "end_ts_ns": f"CASE WHEN end_ts_ns < {_END} THEN end_ts_ns - {_START} END",
    "first_ts_ns": f"CASE WHEN first_ts_ns < {_START} THEN 0 ELSE first_ts_ns - {_START} END",
    "last_ts_ns": f"CASE WHEN last_ts_ns >= {_END} THEN {_END} - {_START} ELSE last_ts_ns - {_START} END",
}


def _only(condition: str, *columns: str) -> dict[str, str]:
    return {column: f"CASE WHEN {condition} THEN {quote(column)} END" for column in columns}


_SPECIAL = {
    "capture": _Cut(
        {
            "duration_ns": f"least(duration_ns, {_END}) - {_START}",
            **{name: f"{name} + {_START}" for name in ("start_clock_ns", "start_realtime_ns", "start_boottime_ns")},
        }
    ),
    "process": _Cut(_LIFETIME),
    "thread": _Cut(_LIFETIME),
    "source": _Cut(
        {
            **_LIFETIME,
            "since_ts_ns": f"CASE WHEN since_ts_ns IS NOT NULL THEN greatest(since_ts_ns, {_START}) - {_START} END",
            "until_ts_ns": f"CASE WHEN until_ts_ns IS NOT NULL THEN least(until_ts_ns, {_END}) - {_START} END",
        }
    ),
    "thread_state": _Cut(
        {
            "ts_ns": f"greatest(ts_ns, {_START}) - {_START}",
            "duration_ns": f"least(ts_ns + duration_ns, {_END}) - greatest(ts_ns, {_START})",
            **_only(_WOKEN, "waker_utid", "waker_name_id", "waker_cpu", "waker_stack_id", "run_queue_ns"),
        },
        f"ts_ns < {_END} AND (ts_ns >= {_START} OR ts_ns + duration_ns > {_START})",
    ),
    "syscall": _Cut(
        {
            "ts_ns": f"greatest(ts_ns, {_START}) - {_START}",
            "exit_ts_ns": f"CASE WHEN {_RETURNED} THEN exit_ts_ns - {_START} END",
            "duration_ns": f"CASE WHEN {_RETURNED} AND duration_ns >= 0 THEN least(duration_ns, exit_ts_ns - {_START}) END",
            "perf_duration_ns": f"CASE WHEN {_RETURNED} AND perf_duration_ns >= 0 THEN least(perf_duration_ns, exit_ts_ns - {_START}) END",
            **_only(_RETURNED, "ret", "errno", "errno_name"),
            "pairing": f"CASE WHEN exit_ts_ns >= {_END} THEN 'enter_only' ELSE pairing END",
            "cut_at": f"CASE WHEN exit_ts_ns >= {_END} THEN 'end' ELSE cut_at END",
            # The call that it repeats may lie before the window.
            "is_fd_event": f"is_fd_event OR {_START} > 0",
        },
        f"ts_ns < {_END} AND (coalesce(exit_ts_ns, ts_ns) >= {_START} OR (exit_ts_ns IS NULL AND cut_at = 'end'))",
    ),
    "block_io": _Cut(
        {
            "completed_ts_ns": f"CASE WHEN {_COMPLETED} THEN completed_ts_ns - {_START} END",
            **_only(_COMPLETED, "latency_ns", "error"),
        },
        f"ts_ns < {_END} AND coalesce(completed_ts_ns, ts_ns) >= {_START}",
    ),
    "pmc_interval": _Cut(
        {},
        f"ts_ns + coalesce(interval_ns, 0) // 2 >= {_START} AND ts_ns + coalesce(interval_ns, 0) // 2 < {_END}",
    ),
}


def open_scope(case: Case, scope: Scope, sharers: int = 1) -> duckdb.DuckDBPyConnection:
    """Return a connection to the tables and views of ``case`` as if it held nothing but that part of it."""
    if scope.part is None:
        return _open(case, None, scope, sharers)
    start_ns = scope.part.start_ns
    end_ns = _FOREVER if scope.part.end_ns is None else scope.part.end_ns
    connection = open_window(case, start_ns, end_ns, scope, sharers)
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


def _open(case: Case, window: tuple[int, int] | None, scope: Scope, sharers: int) -> duckdb.DuckDBPyConnection:
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
                    told = glob.escape(str(folder / "tables" / "capture.parquet"))
                    connection.execute(
                        "SET VARIABLE capture_duration_ns = (SELECT duration_ns FROM read_parquet($1))::BIGINT", [told]
                    )
                    move(connection, *window)
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
    return in_cache("window", json.dumps([_source(), version("duckdb"), content, is_window, chosen, empty]), make)


@cache
def _source() -> str:
    """Return the source of this module, on which a kept window depends."""
    return Path(__file__).read_text()


def move(connection: duckdb.DuckDBPyConnection, start_ns: int, end_ns: int) -> None:
    """Make an open window another one of the same capture. The last window has what came after the capture's end, too."""
    connection.execute(f"SET VARIABLE window_start_ns = {int(start_ns)}::BIGINT")
    connection.execute(
        f"SET VARIABLE window_end_ns = (CASE WHEN {int(end_ns)} >= getvariable('capture_duration_ns')"
        f" THEN {_FOREVER} ELSE {int(end_ns)} END)::BIGINT"
    )


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
        if name in empty:
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
    names = set(columns)
    changed, condition = _in_window(table, body, columns) if is_window else ({}, None)
    if condition is None and "sample_id" in names and "ts_ns" not in names:
        condition = "sample_id IN (SELECT sample_id FROM sample)"
    of_scope = [name for name in kept if name in names and table not in _NAMES]
    if "utid" in of_scope and "upid" in of_scope:
        of_scope.remove("upid")
    chosen = [f"{name} IN (SELECT unnest(getvariable('scope_{name}')))" for name in of_scope if name != "name_id"]
    if "name_id" in of_scope:
        # By a join, as above: a list is searched for each row, and an untrusted capture may have a million names.
        chosen.append("coalesce(name_id NOT IN (SELECT unnest(getvariable('scope_name_id'))), true)")
    condition = " AND ".join(f"({part})" for part in (condition, *chosen) if part)
    if not changed and not condition:
        return None
    listed = ", ".join(f"{changed[name]} AS {quote(name)}" if name in changed else quote(name) for name in columns)
    where = f" WHERE {condition}" if condition else ""
    return f"SELECT {listed} FROM ({body}) AS whole{where}"


def is_cut(table: str) -> bool:
    """Return whether a window has other rows of a table than the whole capture; a table that the schema does not have may have."""
    tables = load_tables()
    if table in _SPECIAL or table not in tables:
        return True
    return any(column.name.endswith("ts_ns") or column.name == "sample_id" for column in tables[table].columns)


def _in_window(table: str, body: str, columns: Sequence[str]) -> tuple[dict[str, str], str | None]:
    """Return how a table is cut to the window: SQL of the columns that change, and which rows stay."""
    changed = {name: f"{quote(name)} - {_START}" for name in columns if name == "ts_ns" or name.endswith("_ts_ns")}
    if special := _SPECIAL.get(table):
        return changed | dict(special.changed), special.condition
    if table in _KNOWN_ALWAYS or "ts_ns" not in columns:
        return changed, None
    if table in _LAST_BEFORE:
        before = f"SELECT max(snapshot) FROM ({body}) WHERE ts_ns <= {_START}"
        return changed, f"ts_ns < {_END} AND (ts_ns >= {_START} OR snapshot = ({before}))"
    return changed, f"ts_ns >= {_START} AND ts_ns < {_END}"

"""The two sides of a diff: two captures, two windows of one, or of two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfcase import query
from perfcase.diff.compare import Side
from perfcase.errors import PerfcaseError
from perfcase.schema import literal, quote
from perfcase.store import Case
from perfcase.views import load_views, with_dependencies
from perfcase.window import open_window

if TYPE_CHECKING:
    import duckdb
else:
    from perfcase.lazy import duckdb

_SCALES = {"": 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "m": 60 * 10**9, "h": 3600 * 10**9}
_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(s|ms|us|ns|m|h|)")

SHARED = ("fd_history", "fd_call")
"""Views that take long and that several compared views are made from: each side works them out once."""


@dataclass(frozen=True)
class Part:
    """A stretch of a capture, in ns since its beginning; no end: until its end."""

    start_ns: int
    end_ns: int | None


def parse_part(text: str) -> Part:
    """``0s..10s``, ``1.5s..``, ``..500ms``; a number without a unit is seconds."""
    start, separator, end = text.partition("..")
    if not separator or not (start or end):
        raise PerfcaseError("usage", f"{text}: not a window", "such as 0s..10s, 90s.. or ..500ms")
    part = Part(_time(start, text) if start else 0, _time(end, text) if end else None)
    if part.end_ns is not None and part.end_ns <= part.start_ns:
        raise PerfcaseError("usage", f"{text}: ends before it begins")
    return part


def _time(text: str, whole: str) -> int:
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise PerfcaseError("usage", f"{whole}: not a window", "such as 0s..10s, 90s.. or ..500ms")
    return round(float(match[1]) * _SCALES[match[2]])


@contextmanager
def opened_sides(a: Case, b: Case, in_a: Part | None, in_b: Part | None) -> Iterator[tuple[Side, Side]]:
    """Both sides. Of one capture against itself they are the same connection: DuckDB opens a file once in a process."""
    with ExitStack() as stack:
        first = stack.enter_context(_connected(a, in_a))
        is_same = a.folder.resolve() == b.folder.resolve() and in_a == in_b
        second = first if is_same else stack.enter_context(_connected(b, in_b))
        yield _side(first, a, in_a), _side(second, b, in_b)


def _connected(case: Case, part: Part | None) -> duckdb.DuckDBPyConnection:
    if part is None:
        return query.connect(case.folder)
    connection = open_window(case, part.start_ns, part.end_ns if part.end_ns is not None else 1 << 62)
    ((duration_ns,),) = connection.execute("SELECT duration_ns FROM capture").fetchall()
    if duration_ns <= 0:
        raise PerfcaseError("usage", f"{case.name}: it ends before {part.start_ns / 1e9:g} s")
    return connection


def _side(connection: duckdb.DuckDBPyConnection, case: Case, part: Part | None) -> Side:
    duration_ns, cpu_count = connection.execute("SELECT duration_ns, cpu_count FROM capture").fetchone()
    start_ns = part.start_ns if part else 0
    name = case.name if part is None else f"{case.name} {start_ns / 1e9:g}s..{(start_ns + duration_ns) / 1e9:g}s"
    return Side(connection, name, duration_ns, cpu_count, case=case, start_ns=start_ns)


def share_views(connection: duckdb.DuckDBPyConnection, wanted: set[str]) -> None:
    """Works out once what several of the wanted views are made from. A temporary table stands before a view of its name."""
    views = load_views()
    for name in SHARED:
        users = [view for view in wanted if name != view and name in with_dependencies(views, [view])]
        if len(users) > 1:
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(name)} AS FROM {quote(name)}")


def event_count(side: Side, event: str) -> float:
    """How often an event happened: a table's rows, a counter's count, a call's returns or a sampled event's periods."""
    connection = side.connection
    short = event.rpartition(":")[2]
    table = "SELECT count(*) FROM duckdb_views() WHERE NOT internal AND sql LIKE '%read_parquet(%' AND view_name = ?"
    counts = {
        "pmc_interval": f"SELECT sum(count) FROM pmc_interval WHERE event = {literal(event)}",
        "syscall": f"SELECT count(exit_ts_ns) FROM syscall WHERE name = {literal(short)}",
        "sample": f"SELECT sum(period) FROM sample JOIN perf_event USING (event_id) WHERE name = {literal(event)}",
    }
    if connection.execute(table, [short]).fetchone()[0]:
        counts = {short: f"SELECT count(*) FROM {quote(short)}"}
    for sql in counts.values():
        (found,) = connection.execute(sql).fetchone()
        if found:
            return float(found)
    raise PerfcaseError(
        "not_found",
        f"{side.name}: no {event} to divide by",
        "a tracepoint or table, a counter of perf stat, a system call or a sampled event",
    )

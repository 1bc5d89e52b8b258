"""The two sides of a diff: two captures, two windows of one, or of two."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeVar

from perfcase.case import query
from perfcase.case.query import sql_errors
from perfcase.case.scope import Part, Scope, resolve
from perfcase.case.store import Case
from perfcase.case.window import open_scope
from perfcase.catalogue.contents import is_tracepoint
from perfcase.catalogue.schema import literal, load_tables, quote
from perfcase.diff.collect import key_sql
from perfcase.diff.compare import Side
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

_T = TypeVar("_T")

SIDES = 2
"""They are asked at the same time."""


def on_both(a: Side, b: Side, work: Callable[[Side], _T]) -> tuple[_T, _T]:
    """Do the same for both sides at once; for a capture against itself once."""
    if a.connection is b.connection:
        both = work(a)
        return both, both
    with ThreadPoolExecutor(SIDES) as pool:
        first, second = pool.map(work, (a, b))
    return first, second


def fed_views(side: Side) -> set[str]:
    """Return the views whose tables have rows on a side."""
    return {name for (name,) in side.connection.execute("SELECT view_name FROM view_coverage WHERE is_fed").fetchall()}


@contextmanager
def opened_sides(
    a: Case, b: Case, in_a: Part | None, in_b: Part | None, only: Sequence[str] = ()
) -> Iterator[tuple[Side, Side]]:
    """Open both sides, each cut to the part that ``only`` names (perfcase.case.scope). If both are the same part of one capture, they
    are the same connection: DuckDB opens a file once in a process."""
    scopes = _scope(a, in_a, only), _scope(b, in_b, only)
    with ExitStack() as stack:
        first = stack.enter_context(_connected(a, scopes[0]))
        is_same = a.folder.resolve() == b.folder.resolve() and scopes[0] == scopes[1]
        second = first if is_same else stack.enter_context(_connected(b, scopes[1]))
        yield _side(first, a, scopes[0], only), _side(second, b, scopes[1], only)


def _scope(case: Case, part: Part | None, only: Sequence[str]) -> Scope | None:
    if not only:
        return Scope(part) if part else None
    try:
        found = resolve(lambda: query.connect(case.folder), only)
    except PerfcaseError as error:
        raise PerfcaseError(error.kind, f"{case.name}: {error.message}", error.hint) from error
    if found.part:
        raise PerfcaseError("usage", "the sides of a diff have windows of their own", "--a and --b")
    return replace(found, part=part)


def _connected(case: Case, scope: Scope | None) -> duckdb.DuckDBPyConnection:
    return query.connect(case.folder, SIDES) if scope is None else open_scope(case, scope, SIDES)


def _side(connection: duckdb.DuckDBPyConnection, case: Case, scope: Scope | None, only: Sequence[str]) -> Side:
    duration_ns, cpu_count = connection.execute("SELECT duration_ns, cpu_count FROM capture").fetchone()
    part = scope.part if scope else None
    start_ns = part.start_ns if part else 0
    name = case.name if part is None else f"{case.name} {start_ns / 1e9:g}s..{(start_ns + duration_ns) / 1e9:g}s"
    name = ", ".join((name, *only))
    return Side(connection, name, duration_ns, cpu_count, case=case, start_ns=start_ns, scope=scope)


EVENTS = {
    "tracepoint": "tracepoints",
    "counter": "counters",
    "system call": "system calls",
    "sampled event": "sampled events",
}
"""Kinds of events that a diff may divide by, in plural. A name that two of them know is of the first."""
_EVENTS_NAMED = 5
"""Events of each way that an error names."""


def count_per(a: Side, b: Side, event: str) -> tuple[Side, Side]:
    """Return both sides with the count of an event, counted in the same way on both."""
    names = {event, event.rpartition(":")[2], re.sub("/freq=[0-9]+/", "", event)}
    seen = [False, False]
    both = []
    for kind, plural in EVENTS.items():
        counting = [_counting(side, kind) for side in (a, b)]
        known = [_counts(side, sql) for side, sql in zip((a, b), counting, strict=True)]
        common = [name for name in known[0] if name in known[1]]
        for name in common:
            if name in names:
                old, new = (
                    replace(
                        side,
                        per=event,
                        per_count=counts[name],
                        per_sql=f"SELECT n FROM ({sql}) WHERE name = {literal(name)}",
                    )
                    for side, counts, sql in zip((a, b), known, counting, strict=True)
                )
                return old, new
        seen = [before or not names.isdisjoint(counts) for before, counts in zip(seen, known, strict=True)]
        if common:
            first = sorted(common, key=lambda name: (-min(counts[name] for counts in known), name))[:_EVENTS_NAMED]
            both.append(f"{plural} {', '.join(first)}{', …' if len(common) > len(first) else ''}")
    reason = f"only {(a if seen[0] else b).name} has {event}" if seen[0] != seen[1] else f"neither has {event}"
    raise PerfcaseError("not_found", f"--per: {reason}", f"both have {'; '.join(both)}" if both else None)


def _counting(side: Side, kind: str) -> str:
    """Return SQL of how often each event of a kind happened: as the tables say, and of tracepoints by the rows of their tables."""
    known = load_tables()
    counts = (each.sql for table in known.values() for each in table.events if each.kind == kind)
    parts = [sql.format(event=key_sql("event")) for sql in counts]
    if kind == "tracepoint":
        tables = side.connection.execute(
            "SELECT table_name FROM duckdb_columns() JOIN duckdb_views() ON view_name = table_name"
            " WHERE sql LIKE '%read_parquet(%' AND column_name IN ('ts_ns', 'source_id', 'utid', 'cpu')"
            " GROUP BY ALL HAVING count(*) = 4 ORDER BY 1"
        ).fetchall()
        # What two sources recorded happened once; the one that has more of it lost less.
        parts += [
            f"SELECT {literal(name)} AS name, max(n) AS n FROM (SELECT count(*) AS n FROM {quote(name)} GROUP BY source_id)"
            for (name,) in tables
            if name not in known or is_tracepoint(known[name])
        ]
    return " UNION ALL ".join(parts)


@sql_errors()
def _counts(side: Side, sql: str) -> dict[str, float]:
    """Return how often each event happened, of those that did."""
    return {name: float(n) for name, n in side.connection.execute(sql).fetchall() if n and n > 0}

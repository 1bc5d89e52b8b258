"""How long the rows of a view were recorded: what its amounts per second are divided by, for every command alike."""

from __future__ import annotations

from functools import cache

from perfcase.catalogue import is_tracepoint
from perfcase.lazy import duckdb
from perfcase.schema import literal, load_tables
from perfcase.views import load_views, with_dependencies

_OF_SAMPLES = frozenset({"sample", "sample_detail", "sample_read", "branch"})
_SPANS = frozenset({"thread_state", "syscall", "block_io"})


def recorded_ns(connection: duckdb.DuckDBPyConnection, view: str) -> int | None:
    """The time in ns in which all that a view counts was recorded (``recorded_span``).

    None for a view of /proc or of counters, whose rows have intervals of their own, and where nothing was recorded.
    """
    tables = spans(view)
    if not tables:
        return None
    listed = ", ".join(map(literal, sorted(tables)))
    sql = f"SELECT min(end_ts_ns) - max(start_ts_ns) FROM recorded_span WHERE table_name IN ({listed})"
    ((duration_ns,),) = connection.execute(sql).fetchall()
    return duration_ns if duration_ns and duration_ns > 0 else None


@cache
def spans(view: str) -> frozenset[str]:
    """The rows of ``recorded_span`` that tell of a view: by the tables of events that it is made of."""
    views = load_views()
    if view not in views:
        return frozenset()
    used = {name for each in with_dependencies(views, [view]).values() for name in each.sources}
    found = used & _SPANS
    if used & _OF_SAMPLES:
        found |= {"sample"}
    # A tracepoint that has a table of its own is recorded by the tracer.
    tables = load_tables()
    if not found and any(is_tracepoint(tables[name]) for name in used & tables.keys()):
        found |= {"thread_state"}
    return frozenset(found)

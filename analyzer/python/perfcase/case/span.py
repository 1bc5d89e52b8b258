"""How long what a view counts was recorded: what its amounts per second are divided by, for every command alike."""

from __future__ import annotations

from functools import cache

from perfcase.catalogue.contents import is_tracepoint
from perfcase.catalogue.schema import Table, literal, load_tables
from perfcase.catalogue.views import load_views, with_dependencies
from perfcase.lazy import duckdb

_OF_SAMPLES = frozenset({"sample", "sample_detail", "sample_read", "branch"})
_SPANS = frozenset({"thread_state", "syscall", "block_io"})
_COUNTERS_WITH_EVENTS = frozenset({"disk_summary"})
"""Views that count what /proc counts, and tell of events beside it."""
_BY_METHOD = {"page_cache": "SELECT max(ts_ns + interval_ns) - min(ts_ns) FROM page_cache"}
"""A view whose intervals are of events or of counters, as a capture has them."""


def recorded_ns(
    connection: duckdb.DuckDBPyConnection, view: str, known: dict[str, int | None] | None = None
) -> int | None:
    """Return the time in ns in which all that a view counts was recorded: of events that of their sources (``recorded_span``), of
    counters the time between the first and the last reading.

    None where nothing was recorded, and for a view of neither. ``known`` remembers it for other views of the same events.
    """
    sql = recorded_sql(view)
    if sql is None:
        return None
    known = {} if known is None else known
    if sql not in known:
        ((duration_ns,),) = connection.execute(sql).fetchall()
        known[sql] = duration_ns if duration_ns and duration_ns > 0 else None
    return known[sql]


@cache
def recorded_sql(view: str) -> str | None:
    """Return the SELECT of ``recorded_ns``; None where there is none."""
    if view in _BY_METHOD:
        return _BY_METHOD[view]
    if tables := spans(view):
        listed = ", ".join(map(literal, sorted(tables)))
        return f"SELECT min(end_ts_ns) - max(start_ts_ns) FROM recorded_span WHERE table_name IN ({listed})"
    read = recorded_in(view)
    if "pmc_interval" in read:
        return "SELECT max(ts_ns + interval_ns) - min(ts_ns) FROM pmc_interval"
    if not read:
        return None
    moments = " UNION ALL ".join(f"SELECT min(ts_ns) AS first, max(ts_ns) AS last FROM {name}" for name in read)
    return f"SELECT max(last) - min(first) FROM ({moments})"


@cache
def recorded_in(view: str) -> tuple[str, ...]:
    """Return the tables and views that ``recorded_ns`` reads."""
    if view in _BY_METHOD:
        return (view,)
    if spans(view):
        return ("recorded_span",)
    used = _tables(view)
    if "pmc_interval" in used:
        return ("pmc_interval",)
    return tuple(
        sorted(table.name for table in load_tables().values() if table.name in used and _is_of_snapshots(table))
    )


@cache
def spans(view: str) -> frozenset[str]:
    """Return the rows of ``recorded_span`` that tell of a view: by the tables of events that it is made of."""
    used = _tables(view)
    if view in _COUNTERS_WITH_EVENTS:
        return frozenset()
    tables = load_tables()
    # What was recorded is what a table is made of.
    used |= {each for name in used & tables.keys() for each in tables[name].made_of}
    found = used & _SPANS
    if used & _OF_SAMPLES:
        found |= {"sample"}
    # A tracepoint that has a table of its own is recorded by the tracer.
    if not found and any(is_tracepoint(tables[name]) for name in used & tables.keys()):
        found |= {"thread_state"}
    return frozenset(found)


@cache
def _tables(view: str) -> frozenset[str]:
    views = load_views()
    if view not in views:
        return frozenset()
    return frozenset(name for each in with_dependencies(views, [view]).values() for name in each.sources)


def _is_of_snapshots(table: Table) -> bool:
    return {"snapshot", "ts_ns"} <= {column.name for column in table.columns}

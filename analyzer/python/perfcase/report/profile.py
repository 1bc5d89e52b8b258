"""Where the samples were taken."""

from __future__ import annotations

from perfcase.catalogue.schema import literal
from perfcase.report.document import Column
from perfcase.report.page import Page
from perfcase.stacks.fetching import sampling_event
from perfcase.text import count, ratio

TITLE = "Profile: where CPU time goes"

_TOP = 12
_COLUMNS = {
    "self_ratio": Column("self", "ratio"),
    "self_count": Column("samples", "count"),
    "total_ratio": Column("total", "ratio"),
    "total_count": Column("samples", "count"),
    "symbol": Column("function", left=True, limit=60),
    "dso": Column("in", left=True, limit=30),
}


def write(page: Page) -> None:
    events = {row["event"]: row for row in page.select("profile_summary", order="event")}
    chosen = sampling_event(events)
    if chosen is None:
        page.missing("CPU samples", "function_profile")
        return
    where = f"event = {literal(chosen)}"
    rows = page.select(
        "function_profile",
        where=f"{where} AND NOT is_idle",
        order="self_period DESC, total_period DESC, symbol, dso",
        limit=_TOP,
    )
    page.table(_COLUMNS, rows)
    whole = events[chosen]
    if whole["idle_count"]:
        idle = f"{ratio(whole['idle_ratio'])} ({count(whole['idle_count'])} samples)"
        page.line(f"and {idle} where the CPU was idle", "quiet")
    page.line(f"event: {chosen}", "quiet")
    page.source("function_profile", where=where)

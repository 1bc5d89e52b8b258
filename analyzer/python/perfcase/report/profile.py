"""Where the samples were taken."""

from __future__ import annotations

from perfcase.report.page import Column, Page
from perfcase.schema import literal
from perfcase.text import count, ratio

TITLE = "Profile: where CPU time goes"

_TOP = 12
# What stands for time, best first; a tracepoint's profile says how often, not how long.
_CLOCKS = ("cycles", "cpu-clock", "task-clock", "cpu-cycles", "instructions")


def write(page: Page) -> None:
    events = [row["event"] for row in page.rows("SELECT DISTINCT event FROM function_profile ORDER BY event")]
    chosen = _sampling_event(events)
    if chosen is None:
        page.missing("CPU samples", ("perf_data",))
        return
    rows = page.rows(
        f"SELECT * FROM function_profile WHERE event = {literal(chosen)}"
        f" ORDER BY self_period DESC, total_period DESC, symbol, dso LIMIT {_TOP}"
    )
    page.table(
        [
            Column("self", ratio),
            Column("samples", count),
            Column("total", ratio),
            Column("samples", count),
            Column("function", left=True, limit=60),
            Column("in", left=True, limit=30),
        ],
        [[r["self_ratio"], r["self_count"], r["total_ratio"], r["total_count"], r["symbol"], r["dso"]] for r in rows],
    )
    page.line(f"event: {chosen}", "dim")
    page.source("function_profile", f""" --where "event = '{chosen}'\"""")


def _sampling_event(events: list[str]) -> str | None:
    for clock in _CLOCKS:
        for event in events:
            if event.split(":")[0].split("/")[0] == clock:
                return event
    return None

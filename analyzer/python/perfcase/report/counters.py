"""What the CPU's counters say: how much work a cycle does, and what it waits for."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import Page
from perfcase.text import count

TITLE = "CPU counters"

_CPUS_MAX = 8
_COUNTERS = {
    "name": Column("interval", left=True),
    "ts_ns": Column("from", "ns"),
    "interval_ns": Column("length", "ns"),
    "cycles": Column("cycles", "count"),
    "instructions": Column("instructions", "count"),
    "ipc": Column("IPC", write="{:.2f}".format),
    "branches": Column("branches", "count"),
    "branch_miss_ratio": Column("mispredicted", "ratio"),
    "llc_references": Column("LLC references", "count"),
    "llc_hit_ratio": Column("LLC hits", "ratio"),
}
_CLOCKS = {
    "cpu": Column("CPU"),
    "effective_ghz": Column("GHz", "GHz", "{:.2f}".format),
    "base_ghz": Column("base GHz", "GHz", "{:.2f}".format),
    "busy_ns": Column("busy", "ns"),
    "run_ratio": Column("%RUN", "ratio"),
    "used_ratio": Column("%USED", "ratio"),
    "method": Column("found by", left=True),
}


def write(page: Page) -> None:
    _architectural(page)
    _frequency(page)
    _software(page)


def _architectural(page: Page) -> None:
    """Write all intervals together, and of those that did the least and the most work in a cycle."""
    whole = page.first("pmc_summary", "*, since_ts_ns AS ts_ns, duration_ns AS interval_ns")
    if whole is None:
        page.missing("Hardware counters", "pmc_summary")
        return
    rows = [{**whole, "name": "all"}]
    known = "ipc IS NOT NULL"
    least, most = (page.first("pmcarch", where=known, order=f"ipc {way}, ts_ns") for way in ("ASC", "DESC"))
    if least and most and least["ts_ns"] != most["ts_ns"]:
        rows += [{**least, "name": "lowest IPC"}, {**most, "name": "highest IPC"}]
    page.table(_COUNTERS, rows)
    page.source("pmc_summary")
    page.source("pmcarch")


def _frequency(page: Page) -> None:
    """Write the clock of each CPU, and how busy it was at its actual and at its base clock."""
    rows = page.select("cpu_frequency_summary", order="busy_ns DESC NULLS LAST, cpu", limit=_CPUS_MAX)
    if rows:
        page.table(_CLOCKS, rows)
        page.source("cpu_frequency_summary")


def _software(page: Page) -> None:
    rows = page.select("software_event_summary", where="unit IS DISTINCT FROM 'ns'", order="event, unit")
    if rows:
        page.line(", ".join(f"{row['event']} {count(row['count'])} ({count(row['count_per_s'])}/s)" for row in rows))
        page.source("software_event_summary")

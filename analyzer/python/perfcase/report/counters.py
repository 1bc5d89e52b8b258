"""What the CPU's counters say: how much work a cycle does, and what it waits for."""

from __future__ import annotations

from typing import Any

from perfcase.report.page import Column, Page
from perfcase.text import count, duration, ratio

TITLE = "CPU counters"

_CPUS_MAX = 8


def write(page: Page) -> None:
    rows = page.rows("SELECT * FROM pmcarch WHERE cycles IS NOT NULL OR instructions IS NOT NULL ORDER BY ts_ns")
    if rows:
        _architectural(page, rows)
    else:
        page.missing("Hardware counters", "pmcarch")
    _frequency(page)
    _software(page)


def _architectural(page: Page, rows: list[dict[str, Any]]) -> None:
    known = [row for row in rows if row["ipc"] is not None]
    shown = {"all": _total(rows)}
    if len(known) > 1:
        shown["lowest IPC"] = min(known, key=lambda row: row["ipc"])
        shown["highest IPC"] = max(known, key=lambda row: row["ipc"])
    page.table(
        [
            Column("interval", left=True),
            Column("until", duration),
            Column("cycles", count),
            Column("instructions", count),
            Column("IPC", "{:.2f}".format),
            Column("branches", count),
            Column("mispredicted", ratio),
            Column("LLC references", count),
            Column("LLC hits", ratio),
        ],
        [[name, *(row[key] for key in _KEYS)] for name, row in shown.items()],
    )
    page.source("pmcarch")


def _frequency(page: Page) -> None:
    """Print the clock of each CPU, and how busy it was at its actual and at its base clock."""
    rows = page.rows_of(
        "cpu_frequency",
        "SELECT coalesce(cpu::VARCHAR, aggregate, 'all') AS cpu,"
        # For counts without busy time (cycles / task-clock), the time at that clock is what the cycles took.
        " sum(effective_ghz * coalesce(busy_ns, cycles / effective_ghz)) / nullif("
        "sum(coalesce(busy_ns, cycles / effective_ghz)) FILTER (effective_ghz IS NOT NULL), 0) AS effective,"
        " max(base_ghz) AS base, sum(busy_ns)::BIGINT AS busy_ns,"
        " sum(busy_ns) / nullif(sum(interval_ns) FILTER (busy_ns IS NOT NULL), 0) AS run,"
        " sum(used_ratio * interval_ns) / nullif(sum(interval_ns) FILTER (used_ratio IS NOT NULL), 0) AS used,"
        f" min(method) AS method FROM cpu_frequency GROUP BY ALL ORDER BY busy_ns DESC NULLS LAST, cpu LIMIT {_CPUS_MAX}",
    )
    if not rows:
        return
    page.table(
        [
            Column("CPU"),
            Column("GHz", "{:.2f}".format),
            Column("base GHz", "{:.2f}".format),
            Column("busy", duration),
            Column("%RUN", ratio),
            Column("%USED", ratio),
            Column("found by", left=True),
        ],
        [list(row.values()) for row in rows],
    )
    page.source("cpu_frequency")


def _software(page: Page) -> None:
    rows = page.rows_of(
        "software_events",
        "SELECT event, unit, sum(count) AS total, sum(count) * 1e9 / sum(interval_ns) AS per_s FROM software_events"
        " GROUP BY ALL HAVING sum(count) IS NOT NULL ORDER BY event, unit",
    )
    counted = [f"{row['event']} {count(row['total'])} ({count(row['per_s'])}/s)" for row in rows if row["unit"] != "ns"]
    if counted:
        page.line(", ".join(counted))
        page.source("software_events")


_KEYS = (
    "ts_ns", "cycles", "instructions", "ipc", "branches", "branch_miss_ratio", "llc_references", "llc_hit_ratio",
)  # fmt: skip


def _total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the totals of all intervals, as ratios of sums: a mean of ratios would weigh idle intervals like busy ones."""
    cycles, instructions = _sum(rows, "cycles"), _sum(rows, "instructions")
    branches, misses = _sum(rows, "branches"), _sum(rows, "branch_misses")
    references, llc_misses = _sum(rows, "llc_references"), _sum(rows, "llc_misses")
    return {
        "ts_ns": rows[-1]["ts_ns"],
        "cycles": cycles,
        "instructions": instructions,
        "ipc": _divided(instructions, cycles),
        "branches": branches,
        "branch_miss_ratio": _divided(misses, branches),
        "llc_references": references,
        "llc_hit_ratio": None if llc_misses is None or not references else 1 - llc_misses / references,
    }


def _sum(rows: list[dict[str, Any]], key: str) -> float | None:
    known = [row[key] for row in rows if row[key] is not None]
    return sum(known) if known else None


def _divided(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole

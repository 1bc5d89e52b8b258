"""How busy the host was: load averages, then what the CPUs did."""

from __future__ import annotations

from perfcase.report.page import Column, Page
from perfcase.text import duration, ratio

TITLE = "Load and CPUs"

_PARTS = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
_CPUS_MAX = 8


def write(page: Page) -> None:
    loads = page.rows("SELECT * FROM load_average ORDER BY ts_ns DESC LIMIT 1")
    cpus = _cpus(page)
    if not loads and not cpus:
        page.missing("/proc snapshots", ("proc_snapshots",))
        return
    for last in loads:
        per_cpu = "" if last["load_per_cpu"] is None else f", {last['load_per_cpu']:.2f} per CPU"
        averages = " ".join(f"{last[name]:.2f}" for name in ("load_1min", "load_5min", "load_15min"))
        running = f"{last['runnable_count']} of {last['thread_count']} threads runnable"
        page.line(f"Load averages at the end (1, 5, 15 min): {averages}{per_cpu}; {running}")
        page.source("load_average")
    if cpus:
        _utilization(page, cpus)


def _cpus(page: Page) -> list[dict]:
    """What each CPU did over the whole capture: the sum of the intervals, not the mean of their ratios."""
    sums = ", ".join(f"sum({part}_ns) AS {part}_ns" for part in (*_PARTS, "busy", "total"))
    return page.rows(
        f"SELECT cpu, {sums}, max(busy_ratio) AS peak, count(*) AS intervals FROM cpu_utilization GROUP BY cpu"
        " ORDER BY cpu <> 'all', busy_ns DESC, cpu"
    )


def _utilization(page: Page, cpus: list[dict]) -> None:
    shown = cpus[: _CPUS_MAX + 1]
    # Kinds of time that nobody spent any of are left out: on most hosts that is steal, guests, nice.
    parts = [part for part in _PARTS if part in ("usr", "sys", "idle") or any(row[f"{part}_ns"] for row in shown)]
    page.line("")
    page.table(
        [
            Column("CPU"),
            Column("busy", duration),
            Column("share", ratio),
            *(Column(part, ratio) for part in parts),
            Column("busiest interval", ratio),
        ],
        [
            [
                row["cpu"],
                row["busy_ns"],
                _share(row, "busy"),
                *(_share(row, part) for part in parts),
                row["peak"],
            ]
            for row in shown
        ],
    )
    if len(cpus) > len(shown):
        page.line(f"and {len(cpus) - len(shown)} CPUs less busy", "dim")
    page.source("cpu_utilization")


def _share(row: dict, part: str) -> float | None:
    return row[f"{part}_ns"] / row["total_ns"] if row["total_ns"] and row[f"{part}_ns"] is not None else None

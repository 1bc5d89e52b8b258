"""uptime, vmstat, mpstat: how busy the host was, and with what."""

from __future__ import annotations

from perfcase.report.page import Column, Page
from perfcase.text import count, duration, ratio, size

_PARTS = ("user", "nice", "system", "iowait", "irq", "softirq", "steal", "guest", "guest_nice", "idle")
_CPUS_MAX = 8


def uptime(page: Page) -> None:
    """Load averages: is it getting busier?"""
    loads = page.rows_of("load_average", "SELECT * FROM load_average ORDER BY ts_ns DESC LIMIT 1")
    if not loads:
        page.absent("uptime", "load_average")
        return
    last = loads[0]
    averages = " ".join(f"{last[name]:.2f}" for name in ("load_1min", "load_5min", "load_15min"))
    per_cpu = ""
    if last["load_per_cpu"] is not None:
        per_cpu = f", {last['load_per_cpu']:.2f} per CPU"
    trend = "rising" if last["load_1min"] > last["load_15min"] else "falling"
    if abs(last["load_1min"] - last["load_15min"]) <= 0.1 * max(last["load_15min"], 0.1):
        trend = "steady"
    running = f"{last['runnable_count']} of {last['thread_count']} threads runnable"
    page.tool("uptime", f"load averages (1, 5, 15 min) {averages}, {trend}{per_cpu}; {running}", "load_average")


def vmstat(page: Page) -> None:
    """Print waiting threads, swapping and switches."""
    rows = page.rows_of(
        "vm_activity",
        "SELECT count(*) AS intervals, max(runnable_count) AS runnable, max(blocked_count) AS blocked,"
        " sum(swap_in_bytes + swap_out_bytes) AS swapped,"
        " sum(context_switch_count) * 1e9 / sum(interval_ns) AS switches, max(context_switch_per_s) AS switches_max,"
        " sum(interrupt_count) * 1e9 / sum(interval_ns) AS interrupts, max(interrupt_per_s) AS interrupts_max"
        " FROM vm_activity",
    )
    if not rows or not rows[0]["intervals"]:
        page.absent("vmstat", "vm_activity")
        return
    row = rows[0]
    swapped = "no swapping" if row["swapped"] == 0 else f"swapped {size(row['swapped'])}"
    page.tool(
        "vmstat",
        f"up to {count(row['runnable'])} threads runnable, up to {count(row['blocked'])} blocked; {swapped};"
        f" context switches {count(row['switches'])}/s (most {count(row['switches_max'])}),"
        f" interrupts {count(row['interrupts'])}/s (most {count(row['interrupts_max'])})",
        "vm_activity",
    )


def mpstat(page: Page) -> None:
    """Print what each CPU did over the whole capture: the sum of the intervals, not the mean of their ratios."""
    sums = ", ".join(f"sum({part}_ns) AS {part}_ns" for part in (*_PARTS, "busy"))
    cpus = page.rows_of(
        "cpu_utilization",
        f"SELECT cpu, {sums}, sum(cpu_ns) AS cpu_ns, max(busy_ratio) AS peak FROM cpu_utilization GROUP BY cpu"
        " ORDER BY cpu <> 'all', busy_ns DESC, cpu",
    )
    if not cpus:
        page.absent("mpstat", "cpu_utilization")
        return
    shown = cpus[: _CPUS_MAX + 1]
    # Kinds of time that nobody spent any of are left out: on most hosts that is steal, guests, nice.
    parts = [part for part in _PARTS if part in ("user", "system", "idle") or any(row[f"{part}_ns"] for row in shown)]
    page.tool("mpstat", "", "cpu_utilization")
    page.table(
        [
            Column("CPU"),
            Column("busy", duration),
            Column("share", ratio),
            *(Column(part, ratio) for part in parts),
            Column("busiest interval", ratio),
        ],
        [
            [row["cpu"], row["busy_ns"], _share(row, "busy"), *(_share(row, part) for part in parts), row["peak"]]
            for row in shown
        ],
    )
    if len(cpus) > len(shown):
        page.line(f"and {len(cpus) - len(shown)} CPUs less busy", "dim")


def _share(row: dict, part: str) -> float | None:
    return row[f"{part}_ns"] / row["cpu_ns"] if row["cpu_ns"] and row[f"{part}_ns"] is not None else None

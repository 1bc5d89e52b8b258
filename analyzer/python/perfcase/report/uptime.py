"""uptime, vmstat, mpstat: how busy the host was, and with what."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import Page
from perfcase.text import count, size

_CPUS_MAX = 8
_PARTS = ("user", "nice", "system", "iowait", "irq", "softirq", "steal", "guest", "guest_nice", "idle")
_ALWAYS = ("user", "system", "idle")


def uptime(page: Page) -> None:
    """Write load averages: is it getting busier?"""
    row = page.first("load_average", order="ts_ns DESC")
    if row is None:
        page.absent("uptime", "load_average")
        return
    averages = " ".join(f"{row[name]:.2f}" for name in ("load_1min", "load_5min", "load_15min"))
    per_cpu = "" if row["load_per_cpu"] is None else f", {row['load_per_cpu']:.2f} per CPU"
    running = f"{row['runnable_count']} of {row['thread_count']} threads runnable"
    text = f"load averages (1, 5, 15 min) {averages}, {row['trend']}{per_cpu}; {running}"
    page.check("uptime", text, "load_average")


def vmstat(page: Page) -> None:
    """Write waiting threads, swapping and switches."""
    row = page.first("vm_summary", where="runnable_max_count IS NOT NULL")
    if row is None:
        page.absent("vmstat", "vm_summary")
        return
    swapped = {0: "no swapping", None: "swapping unknown"}.get(row["swap_bytes"], f"swapped {size(row['swap_bytes'])}")
    page.check(
        "vmstat",
        f"up to {count(row['runnable_max_count'])} threads runnable, up to {count(row['blocked_max_count'])} blocked; {swapped};"
        f" context switches {count(row['context_switch_per_s'])}/s (most {count(row['context_switch_max_per_s'])}),"
        f" interrupts {count(row['interrupt_per_s'])}/s (most {count(row['interrupt_max_per_s'])})",
        "vm_summary",
    )


def mpstat(page: Page) -> None:
    """Write what each CPU did over the whole capture."""
    cpus = page.select("cpu_summary", order="cpu <> 'all', busy_ns DESC, cpu")
    if not cpus:
        page.absent("mpstat", "cpu_summary")
        return
    shown = cpus[: _CPUS_MAX + 1]
    # Kinds of time that nobody spent any of are left out: on most hosts that is steal, guests, nice.
    parts = [part for part in _PARTS if part in _ALWAYS or any(row[f"{part}_ns"] for row in shown)]
    page.check("mpstat", "", "cpu_summary")
    columns = {
        "cpu": Column("CPU"),
        "busy_ns": Column("busy", "ns"),
        "busy_ratio": Column("share", "ratio"),
        **{f"{part}_ratio": Column(part, "ratio") for part in parts},
        "busy_max_ratio": Column("busiest interval", "ratio"),
    }
    page.table(columns, shown)
    page.more(cpus, len(shown), "CPU", " less busy", "quiet")

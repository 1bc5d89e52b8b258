"""Where the samples were taken."""

from __future__ import annotations

from perfcase.catalogue.schema import literal
from perfcase.report.page import Column, Page
from perfcase.stacks.fetching import sampling_event
from perfcase.text import count, ratio

TITLE = "Profile: where CPU time goes"

_TOP = 12
# Where an idle CPU is sampled: its share says how idle the host was, not where time goes.
_IDLE = (
    "acpi_idle_do_entry", "acpi_safe_halt", "arch_cpu_idle", "cpu_do_idle", "cpuidle_enter_state", "default_idle",
    "intel_idle", "intel_idle_irq", "intel_idle_xstate", "mwait_idle", "native_safe_halt", "poll_idle", "psw_idle",
    "pv_native_safe_halt",
)  # fmt: skip


def write(page: Page) -> None:
    events = [row["event"] for row in page.rows("SELECT DISTINCT event FROM function_profile ORDER BY event")]
    chosen = sampling_event(events)
    if chosen is None:
        page.missing("CPU samples", "function_profile")
        return
    of_event = f"FROM function_profile WHERE event = {literal(chosen)}"
    idle = f"(is_kernel AND symbol IN ({', '.join(map(literal, _IDLE))}))"
    rows = page.rows(
        f"SELECT * {of_event} AND {idle} IS NOT TRUE"
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
    for row in page.rows(f"SELECT sum(self_ratio) AS share, sum(self_count) AS samples {of_event} AND {idle}"):
        if row["samples"]:
            page.line(f"and {ratio(row['share'])} ({count(row['samples'])} samples) where the CPU was idle", "dim")
    page.line(f"event: {chosen}", "dim")
    page.source("function_profile", f' --where "event = {literal(chosen)}"')

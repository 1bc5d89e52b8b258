"""What the CPU's counters say."""

from __future__ import annotations

from perfcase.report.page import Column, Page
from perfcase.text import count, ratio

TITLE = "CPU counters"


def write(page: Page) -> None:
    rows = page.rows(
        "SELECT sum(cycles) AS cycles, sum(instructions) AS instructions,"
        " sum(instructions) / nullif(sum(cycles), 0) AS ipc,"
        " sum(branches) AS branches, sum(branch_misses) AS branch_misses,"
        " sum(branch_misses) / nullif(sum(branches), 0) AS branch_miss_ratio,"
        " sum(llc_references) AS llc_references, sum(llc_misses) AS llc_misses,"
        " 1 - sum(llc_misses) / nullif(sum(llc_references), 0) AS llc_hit_ratio, count(*) AS intervals FROM pmcarch"
    )
    total = rows[0]
    if not total["intervals"]:
        page.missing("CPU counters", ("perf_stat",))
        return
    page.table(
        [
            Column("cycles", count),
            Column("instructions", count),
            Column("IPC", lambda value: f"{value:.2f}"),
            Column("branches", count),
            Column("mispredicted", ratio),
            Column("LLC references", count),
            Column("LLC hits", ratio),
            Column("intervals", count),
        ],
        [
            [
                total["cycles"], total["instructions"], total["ipc"], total["branches"], total["branch_miss_ratio"],
                total["llc_references"], total["llc_hit_ratio"], total["intervals"],
            ]
        ],
    )  # fmt: skip
    page.source("pmcarch")

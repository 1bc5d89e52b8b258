"""Who ran, who waited for a CPU, who slept."""

from __future__ import annotations

from perfcase.report.page import NOT_THE_RECORDER, Column, Page
from perfcase.text import count, duration, ratio

TITLE = "Threads: running, waiting for a CPU, sleeping"

_TOP = 10


def write(page: Page) -> None:
    rows = page.rows(
        f"SELECT * FROM thread_time WHERE tid <> 0 AND switch_count > 0 AND {NOT_THE_RECORDER}"
        f" ORDER BY on_cpu_ns + run_queue_ns DESC NULLS LAST, utid LIMIT {_TOP}"
    )
    if not rows:
        page.missing("Context switches", "thread_time")
        return
    page.table(
        [
            Column("thread", left=True, limit=18),
            Column("tid"),
            Column("on CPU", duration),
            Column("share", ratio),
            Column("run queue", duration),
            Column("share", ratio),
            Column("sleep", duration),
            Column("disk sleep", duration),
            Column("switches", count),
            Column("forced", count),
        ],
        [
            [
                row["comm"], row["tid"], row["on_cpu_ns"], row["on_cpu_ratio"], row["run_queue_ns"],
                row["run_queue_ratio"], row["sleep_ns"], row["disk_sleep_ns"], row["switch_count"],
                row["involuntary_count"],
            ]
            for row in rows
        ],
    )  # fmt: skip
    if page.has_rows("recorder_process"):
        page.line("The recorder's own threads are left out, here and below; what they cost comes last.", "dim")
    page.source("thread_time", ' --order "run_queue_ns DESC"')

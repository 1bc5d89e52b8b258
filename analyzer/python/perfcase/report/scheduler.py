"""Who ran, who waited for a CPU, who slept."""

from __future__ import annotations

from perfcase.report.page import NOT_THE_RECORDER, Column, Page
from perfcase.terminal.drawing import spark, with_gaps
from perfcase.text import count, duration, ratio

TITLE = "Threads: running, waiting for a CPU, sleeping"

_TOP = 10
_LATENCIES = 6


def write(page: Page) -> None:
    rows = page.rows(
        f"SELECT * FROM thread_time WHERE tid <> 0 AND switch_count > 0 AND {NOT_THE_RECORDER}"
        f" ORDER BY on_cpu_ns + run_queue_ns DESC NULLS LAST, utid, comm LIMIT {_TOP}"
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
    _latency(page)
    _unclaimed(page)


def _latency(page: Page) -> None:
    """Print how long threads waited for a CPU."""
    rows = page.rows_of(
        "run_queue_latency_by_thread",
        "SELECT comm, tid, wait_count, wait_total_ns, wait_avg_ns, wait_p50_ns, wait_p99_ns, wait_max_ns, wait_max_ts_ns FROM run_queue_latency_by_thread"
        f" WHERE {NOT_THE_RECORDER} AND tid <> 0 ORDER BY wait_total_ns DESC, utid LIMIT {_LATENCIES}",
    )
    if not rows:
        return
    page.line("")
    page.table(
        [
            Column("waited for a CPU", left=True, limit=18),
            Column("tid"),
            Column("waits", count),
            Column("total", duration),
            Column("mean", duration),
            Column("half below", duration),
            Column("99 % below", duration),
            Column("longest", duration),
            Column("at", duration),
        ],
        [list(row.values()) for row in rows],
    )
    page.source("run_queue_latency_by_thread")
    buckets = page.rows_of(
        "run_queue_latency",
        "SELECT bucket_min_ns AS low, bucket_max_ns AS high, sum(wait_count) AS number FROM run_queue_latency"
        f" WHERE {NOT_THE_RECORDER} GROUP BY ALL ORDER BY low",
    )
    if buckets:
        filled = with_gaps((row["low"], row["high"], row["number"]) for row in buckets)
        counts = [float(number) for *_, number in filled]
        picture = f"{duration(filled[0][0])} {spark(counts, max(counts), 40)} {duration(filled[-1][1])}"
        page.line(f"All of these waits: {picture}")
        page.source("run_queue_latency")


def _unclaimed(page: Page) -> None:
    rows = page.rows_of(
        "unclaimed_cpu",
        "SELECT sum(unclaimed_ns) AS unclaimed, sum(busy_ns) + sum(idle_ns) AS total FROM unclaimed_cpu",
    )
    for row in rows:
        if row["unclaimed"] and row["total"]:
            share = ratio(row["unclaimed"] / row["total"])
            page.line(
                f"CPUs were idle for {duration(row['unclaimed'])} ({share} of their time) while threads waited for others"
            )
            page.source("unclaimed_cpu")

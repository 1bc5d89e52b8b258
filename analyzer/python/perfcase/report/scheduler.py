"""Who ran, who waited for a CPU, who slept."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import NOT_THE_RECORDER, Page
from perfcase.report.pictures import distribution
from perfcase.text import duration, ratio

TITLE = "Threads: running, waiting for a CPU, sleeping"

_TOP = 10
_LATENCIES = 6
_THREADS = {
    "comm": Column("thread", left=True, limit=18, link="thread"),
    "tid": Column("tid"),
    "on_cpu_ns": Column("on CPU", "ns"),
    "on_cpu_ratio": Column("share", "ratio"),
    "run_queue_ns": Column("run queue", "ns"),
    "run_queue_ratio": Column("share", "ratio"),
    "sleep_ns": Column("sleep", "ns"),
    "disk_sleep_ns": Column("disk sleep", "ns"),
    "switch_count": Column("switches", "count"),
    "involuntary_count": Column("forced", "count"),
}
_WAITS = {
    "comm": Column("waited for a CPU", left=True, limit=18, link="thread"),
    "tid": Column("tid"),
    "wait_count": Column("waits", "count"),
    "wait_total_ns": Column("total", "ns"),
    "wait_avg_ns": Column("mean", "ns"),
    "wait_p50_ns": Column("half below", "ns"),
    "wait_p99_ns": Column("99 % below", "ns"),
    "wait_max_ns": Column("longest", "ns"),
    "wait_max_ts_ns": Column("at", "ns"),
}


def write(page: Page) -> None:
    rows = page.select(
        "thread_time",
        where=f"tid <> 0 AND switch_count > 0 AND {NOT_THE_RECORDER}",
        order="active_ns DESC NULLS LAST, utid, comm",
        limit=_TOP,
    )
    if not rows:
        page.missing("Context switches", "thread_time")
        return
    page.table(_THREADS, rows)
    if page.has_rows("recorder_process"):
        page.line("The recorder's own threads are left out, here and below; what they cost comes last.", "quiet")
    page.source("thread_time", order="run_queue_ns DESC")
    _latency(page)
    _unclaimed(page)


def _latency(page: Page) -> None:
    """Write how long threads waited for a CPU."""
    rows = page.select(
        "run_queue_latency_by_thread",
        where=f"{NOT_THE_RECORDER} AND tid <> 0",
        order="wait_total_ns DESC, utid",
        limit=_LATENCIES,
    )
    if not rows:
        return
    page.line("")
    page.table(_WAITS, rows)
    page.source("run_queue_latency_by_thread")
    buckets = page.histogram("run_queue_latency", NOT_THE_RECORDER)
    if buckets:
        page.line(f"All of these waits: {distribution(buckets)}")
        page.source("run_queue_latency")


def _unclaimed(page: Page) -> None:
    row = page.first("scheduler_summary", where="unclaimed_ns > 0")
    if row:
        share = f"{duration(row['unclaimed_ns'])} ({ratio(row['unclaimed_ratio'])} of their time)"
        page.line(f"CPUs were idle for {share} while threads waited for others")
        page.source("scheduler_summary")

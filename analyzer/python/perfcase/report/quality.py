"""What to trust: losses, damage, the cost of the recording itself."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import Page
from perfcase.text import count, ratio

TITLE = "How far to trust it"

_ISSUES_MAX = 8
_COSTS = {
    "process": Column("process", left=True, limit=60),
    "phase": Column("when", left=True),
    "cpu_ns": Column("CPU", "ns"),
    "cpu_ratio": Column("of one CPU", "ratio"),
    "resident_max_bytes": Column("memory", "bytes"),
    "output_bytes": Column("output", "bytes"),
    "event_count": Column("events", "count"),
}


def write(page: Page) -> None:
    _losses(page)
    _issues(page)
    _overhead(page)


def _losses(page: Page) -> None:
    for row in page.select("data_quality", where="lost_count > 0", order="lost_count DESC, source"):
        share = f" ({ratio(row['lost_ratio'])} of all)" if row["lost_ratio"] is not None else ""
        page.line(f"{row['source']} lost {count(row['lost_count'])} events{share}: {row['meaning'] or ''}", "warning")
    page.source("data_quality")


def _issues(page: Page) -> None:
    issues = page.select("import_issue", where="severity <> 'info'", order="severity, source NULLS FIRST, message")
    if not issues:
        page.line("Nothing was damaged or unknown in the import.")
    for issue in issues[:_ISSUES_MAX]:
        times = f" ({count(issue['count'])} times)" if issue["count"] > 1 else ""
        hint = f"; {issue['hint']}" if issue["hint"] else ""
        page.line(f"{issue['severity']}: {issue['source'] or 'capture'}: {issue['message']}{times}{hint}", "warning")
    page.more(issues, _ISSUES_MAX, "more issue")
    page.source("import_issue")


def _overhead(page: Page) -> None:
    rows = page.select("recorder_overhead", order="phase IN ('before', 'after'), cpu_ns DESC NULLS LAST, process")
    if rows:
        page.line("")
        page.line("What the recording itself cost:")
        page.table(_COSTS, rows)
        page.source("recorder_overhead")

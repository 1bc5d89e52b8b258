"""What to trust: losses, damage, the cost of the recording itself."""

from __future__ import annotations

from perfcase.report.page import Column, Page
from perfcase.text import count, duration, plural, ratio, size

TITLE = "How far to trust it"

_ISSUES_MAX = 8


def write(page: Page) -> None:
    _losses(page)
    _issues(page)
    _overhead(page)


def _losses(page: Page) -> None:
    for row in page.rows("SELECT * FROM data_quality WHERE lost_count > 0 ORDER BY lost_count DESC, source"):
        share = f" ({ratio(row['lost_ratio'])} of all)" if row["lost_ratio"] is not None else ""
        page.line(f"{row['source']} lost {count(row['lost_count'])} events{share}: {row['meaning'] or ''}", "yellow")
    page.source("data_quality")


def _issues(page: Page) -> None:
    issues = page.rows(
        "SELECT severity, source, count, message, hint FROM import_issue WHERE severity <> 'info'"
        " ORDER BY severity, source NULLS FIRST, message"
    )
    if not issues:
        page.line("Nothing was damaged or unknown in the import.")
    for issue in issues[:_ISSUES_MAX]:
        times = f" ({count(issue['count'])} times)" if issue["count"] > 1 else ""
        hint = f"; {issue['hint']}" if issue["hint"] else ""
        page.line(f"{issue['severity']}: {issue['source'] or 'capture'}: {issue['message']}{times}{hint}", "yellow")
    if len(issues) > _ISSUES_MAX:
        page.line(f"and {plural(len(issues) - _ISSUES_MAX, 'more issue')}")
    page.source("import_issue")


def _overhead(page: Page) -> None:
    rows = page.rows(
        "SELECT * FROM recorder_overhead ORDER BY phase IN ('before', 'after'), cpu_ns DESC NULLS LAST, process"
    )
    if not rows:
        return
    page.line("")
    page.line("What the recording itself cost:")
    page.table(
        [
            Column("process", left=True, limit=60),
            Column("when", left=True),
            Column("CPU", duration),
            Column("of one CPU", ratio),
            Column("memory", size),
            Column("output", size),
            Column("events", count),
        ],
        [
            [
                r[name]
                for name in (
                    "process",
                    "phase",
                    "cpu_ns",
                    "cpu_ratio",
                    "resident_max_bytes",
                    "output_bytes",
                    "event_count",
                )
            ]
            for r in rows
        ],
    )
    page.source("recorder_overhead")

"""dmesg: what the kernel complained about."""

from __future__ import annotations

from perfcase.report.page import Page
from perfcase.text import plural, shorten

_LAST = 4


def dmesg(page: Page) -> None:
    """Print warnings and errors, the last ones in full."""
    rows = page.rows_of(
        "kernel_log",
        "SELECT level, is_in_capture, text, count(*) OVER () AS number, count(CASE WHEN is_in_capture THEN 1 END) OVER () AS during"
        " FROM kernel_log WHERE level IN ('emerg', 'alert', 'crit', 'err', 'warn')"
        f" ORDER BY ts_ns DESC NULLS LAST, text LIMIT {_LAST}",
    )
    if not rows:
        if not page.idle("dmesg", "kernel_log", "no warning and no error in the kernel's log"):
            page.absent("dmesg", "kernel_log")
        return
    number, during = rows[0]["number"], rows[0]["during"]
    page.tool(
        "dmesg",
        f"{plural(number, 'message')} of level warn or worse, {during} of them during the capture; the last:",
        "kernel_log",
    )
    for row in reversed(rows):
        text = " ".join(row["text"].split())  # a message may have several lines
        page.line(f"  {row['level']}: {shorten(text, 140)}", "yellow" if row["is_in_capture"] else "dim")

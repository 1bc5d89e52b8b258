"""dmesg: what the kernel complained about."""

from __future__ import annotations

from perfcase.report.page import Page
from perfcase.text import plural, shorten

_LAST = 4
_TEXT_MAX = 140


def dmesg(page: Page) -> None:
    """Write warnings and errors, the last ones in full."""
    known = page.first("kernel_log_by_level", where="level = 'warn' AND severe_count > 0")
    if known is None:
        if not page.idle("dmesg", "kernel_log", "no warning and no error in the kernel's log"):
            page.absent("dmesg", "kernel_log")
        return
    number, during = known["severe_count"], known["severe_in_capture_count"]
    text = f"{plural(number, 'message')} of level warn or worse, {during} of them during the capture; the last:"
    page.check("dmesg", text, "kernel_log")
    rows = page.select(
        "kernel_log",
        "level, is_in_capture, text",
        where="level IN ('emerg', 'alert', 'crit', 'err', 'warn')",
        order="ts_ns DESC NULLS LAST, text",
        limit=_LAST,
    )
    for row in reversed(rows):
        text = " ".join(row["text"].split())  # a message may have several lines
        tone = "warning" if row["is_in_capture"] else "quiet"
        page.line(f"{row['level']}: {shorten(text, _TEXT_MAX)}", tone, indent=2)

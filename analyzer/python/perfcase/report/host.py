"""What was recorded, where, for how long; what is missing."""

from __future__ import annotations

from perfcase.case.inspection import facts_of_case, sources_of_case
from perfcase.report.document import Column
from perfcase.report.page import Page

TITLE = "What this is"

_SOURCES = {
    "name": Column("source", left=True),
    "status": Column("status", left=True),
    "tool": Column("recorded by", left=True),
    "lost_count": Column("lost", "count"),
}


def write(page: Page) -> None:
    for label, value in facts_of_case(page.connection):
        page.fact(label, value)
    page.line("")
    sources = sources_of_case(page.connection)
    page.table(_SOURCES, sources)
    for source in sources:
        if source["status"] != "available":
            why = source["reason"] or "no reason was recorded"
            remedy = f"; {source['remedy']}" if source["remedy"] else ""
            page.line(f"{source['name']} is {source['status']}: {why}{remedy}", "warning")
    page.source("data_quality")

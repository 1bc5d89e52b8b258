"""What was recorded, where, for how long; what is missing."""

from __future__ import annotations

from perfcase.case.inspection import facts_of_case, sources_of_case
from perfcase.report.page import Column, Page
from perfcase.text import count

TITLE = "What this is"


def write(page: Page) -> None:
    for label, value in facts_of_case(page.connection):
        page.fact(label, value)
    page.line("")
    sources = sources_of_case(page.connection)
    page.table(
        [
            Column("source", left=True),
            Column("status", left=True),
            Column("recorded by", left=True),
            Column("lost", count),
        ],
        [[s["name"], s["status"], s["tool"], s["lost_count"]] for s in sources],
    )
    for source in sources:
        if source["status"] != "available":
            why = source["reason"] or "no reason was recorded"
            remedy = f"; {source['remedy']}" if source["remedy"] else ""
            page.line(f"{source['name']} is {source['status']}: {why}{remedy}", "yellow")
    page.source("data_quality")

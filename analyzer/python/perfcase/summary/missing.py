"""What the capture cannot answer, why, and what would record it."""

from __future__ import annotations

from perfcase.report.page import Page
from perfcase.text import plural

TITLE = "What this capture cannot answer"


def write(page: Page) -> None:
    """Add the section: the views without the tables that they need, together where they lack the same."""
    page.heading(TITLE)
    unfed = page.select("view_coverage", where="NOT is_fed AND kind = 'view'", order="view_name")
    if not unfed:
        page.line("Every view has rows.")
        return
    together: dict[tuple[str, str], list[str]] = {}
    for row in unfed:
        lacking = f"{row['missing_tables']} without rows" if row["missing_tables"] else "not recorded"
        recorded = "; ".join(filter(None, (row["how"], row["remedy"])))
        together.setdefault((row["reason"] or lacking, recorded), []).append(row["view_name"])
    for (why, recorded), views in together.items():
        page.line(f"{', '.join(views)}: {why}" + (f"; to record it: {recorded}" if recorded else ""))
    page.line(f"{plural(len(unfed), 'view')} in all", "quiet")
    page.source("view_coverage")

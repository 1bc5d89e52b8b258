"""What the capture cannot answer, why, and what would record it."""

from __future__ import annotations

from perfcase.report.page import Page
from perfcase.text import plural

TITLE = "What this capture cannot answer"


def write(page: Page) -> None:
    """Write the section: the views without the tables that they need, together where they lack the same."""
    page.heading(TITLE)
    rows = page.rows(
        "SELECT string_agg(view_name, ', ' ORDER BY view_name) AS views, coalesce(reason, missing_tables::VARCHAR ||"
        " ' without rows', 'not recorded') AS why, concat_ws('; ', how, remedy) AS recorded FROM view_coverage"
        " WHERE NOT is_fed AND kind = 'view' GROUP BY why, concat_ws('; ', how, remedy) ORDER BY views"
    )
    if not rows:
        page.line("Every view has rows.")
        return
    for row in rows:
        page.line(f"{row['views']}: {row['why']}" + (f"; to record it: {row['recorded']}" if row["recorded"] else ""))
    (total,) = page.rows("SELECT count(*) AS views FROM view_coverage WHERE NOT is_fed AND kind = 'view'")
    page.line(f"{plural(total['views'], 'view')} in all", "dim")
    page.source("view_coverage")

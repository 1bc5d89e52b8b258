"""Why a view is empty: what the view ``view_coverage`` says, as a sentence."""

from __future__ import annotations

from perfcase.lazy import duckdb


def why_empty(connection: duckdb.DuckDBPyConnection, view: str) -> str | None:
    """Return what is missing for a view, why, and how to record it. None: unknown."""
    try:
        row = connection.execute(
            "SELECT is_fed, missing_tables, sources, reason, how, remedy FROM view_coverage WHERE view_name = ?", [view]
        ).fetchone()
    except duckdb.CatalogException:  # A case of an older perfcase in a folder that cannot be written.
        return None
    if row is None or row[2] is None:
        return None
    is_fed, missing, _, reason, how, remedy = row
    if is_fed:
        parts = ["its tables have rows, but none of the kind that it shows", reason, f"such rows come from: {how}"]
    else:
        parts = [f"nothing in {missing}" if missing != view else None, reason, f"to record it: {how}"]
    parts.append(f"on that host: {remedy}" if remedy else None)
    return "; ".join(part for part in parts if part)

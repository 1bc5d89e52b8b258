"""Why a view is empty: what the view ``view_coverage`` says, as a sentence."""

from __future__ import annotations

from collections.abc import Collection

from perfcase.lazy import duckdb


def why_empty(connection: duckdb.DuckDBPyConnection, view: str) -> str | None:
    """Return what is missing for a view, why, and how to record it. None: unknown."""
    return why_each_empty(connection, [view])[view]


def why_each_empty(connection: duckdb.DuckDBPyConnection, views: Collection[str]) -> dict[str, str | None]:
    """Return what ``why_empty`` says of each of the views."""
    try:
        rows = connection.execute(
            "SELECT view_name, is_fed, missing_tables, reason, how, remedy FROM view_coverage"
            " WHERE list_contains($1, view_name) AND sources IS NOT NULL",
            [[*views]],
        ).fetchall()
    except duckdb.CatalogException:  # A case of an older perfcase in a folder that cannot be written.
        rows = []
    return {**dict.fromkeys(views), **{view: _why(view, *row) for view, *row in rows}}


def _why(view: str, is_fed: bool, missing: str, reason: str | None, how: str, remedy: str | None) -> str:
    if is_fed:
        parts = ["its tables have rows, but none of the kind that it shows", reason, f"such rows come from: {how}"]
    else:
        parts = [f"nothing in {missing}" if missing != view else None, reason, f"to record it: {how}"]
    parts.append(f"on that host: {remedy}" if remedy else None)
    return "; ".join(part for part in parts if part)

"""Utilization, saturation and errors of every resource."""

from __future__ import annotations

from typing import Any

from perfcase.report.page import Column, Page
from perfcase.text import count, duration, figure, ratio, size

VIEW = "use_method"
TITLE = "Utilization, saturation, errors"

_RESOURCES = ("cpu", "memory", "disk", "network")
_KINDS = ("utilization", "saturation", "errors")


def write(page: Page) -> None:
    rows = page.rows_of("use_method", "SELECT * FROM use_method")
    if not rows:
        page.missing("Resources", "use_method")
        return
    page.table(
        [
            Column("resource", left=True, limit=24),
            Column("", left=True),
            Column("what", left=True, limit=60),
            Column("mean"),
            Column("worst"),
            Column("absolute", left=True),
            Column("", left=True),
        ],
        [
            [
                " ".join(part for part in (row["resource"], row["instance"]) if part),
                row["kind"],
                row["metric"],
                _written(row["value"], row["unit"]),
                _written(row["worst_value"], row["unit"]),
                _absolute(row),
                f"↳ {row['view_name']}",
            ]
            for row in rows
        ],
    )
    seen = {(row["resource"], row["kind"]) for row in rows}
    unknown = [f"{kind} of {r}" for r in _RESOURCES for kind in _KINDS if (r, kind) not in seen]
    if unknown:
        page.line(f"not known from this capture: {', '.join(unknown)}", "dim")
    if page.has_rows("recorder_process"):
        page.line("The recorder's own threads and their CPU time are counted here; findings leave them out.", "dim")
    page.source("use_method")


def _absolute(row: dict[str, Any]) -> str:
    """Return a share in absolute terms; of errors and drops, among how many they were."""
    if row["absolute_value"] is None:
        return ""
    return ("of " if row["unit"] == "count" else "") + _written(row["absolute_value"], row["absolute_unit"])


def _written(value: float | None, unit: str | None) -> str:
    if value is None:
        return "-"
    # What is counted stands beside it.
    known = {
        "ratio": ratio,
        "ns": duration,
        "bytes": size,
        "count": lambda v: count(v) if v == int(v) else figure(v),
        "bytes/s": lambda v: f"{size(v)}/s",
    }
    write = known.get(unit or "")
    return write(value) if write else f"{figure(value)} {unit or ''}".strip()

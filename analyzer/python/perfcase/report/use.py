"""Utilization, saturation and errors of every resource."""

from __future__ import annotations

from typing import Any

from perfcase.report.document import FORMATS, Cell, Column
from perfcase.report.page import Page
from perfcase.text import count, figure, size

VIEW = "use_method"
TITLE = "Utilization, saturation, errors"

_RESOURCES = ("cpu", "memory", "disk", "network")
_KINDS = ("utilization", "saturation", "errors")
_COLUMNS = {
    "name": Column("resource", left=True, limit=24),
    "kind": Column("", left=True),
    "metric": Column("what", left=True, limit=60),
    "value": Column("mean"),
    "worst_value": Column("worst"),
    "absolute_value": Column("absolute", left=True),
    "view_name": Column("", write="↳ {}".format, left=True, link="view"),
}
_FORMATS = {
    **FORMATS,
    # What is counted stands beside it.
    "count": lambda value: count(value) if value == int(value) else figure(value),
    "bytes/s": lambda value: f"{size(value)}/s",
}


def write(page: Page) -> None:
    rows = page.select("use_method")
    if not rows:
        page.missing("Resources", "use_method")
        return
    page.table(_COLUMNS, [{**row, **_figures(row)} for row in rows])
    seen = {(row["resource"], row["kind"]) for row in rows}
    unknown = [f"{kind} of {r}" for r in _RESOURCES for kind in _KINDS if (r, kind) not in seen]
    if unknown:
        page.line(f"not known from this capture: {', '.join(unknown)}", "quiet")
    if page.has_rows("recorder_process"):
        page.line("The recorder's own threads and their CPU time are counted here; findings leave them out.", "quiet")
    page.source("use_method")


def _figures(row: dict[str, Any]) -> dict[str, Any]:
    """Return the name of a resource, and its figures each with its own unit."""
    unit, value = row["absolute_unit"], row["absolute_value"]
    # A share in absolute terms; of errors and drops, among how many they were.
    among = "" if value is None else ("of " if row["unit"] == "count" else "") + _written(value, unit)
    return {
        "name": " ".join(part for part in (row["resource"], row["instance"]) if part),
        **{key: Cell(row[key], row["unit"], _written(row[key], row["unit"])) for key in ("value", "worst_value")},
        "absolute_value": Cell(value, unit, among),
    }


def _written(value: float | None, unit: str | None) -> str:
    if value is None:
        return "-"
    write = _FORMATS.get(unit or "")
    return write(value) if write else f"{figure(value)} {unit or ''}".strip()

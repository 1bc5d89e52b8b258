"""The answer as rows: a capture each, with its figure, its distance from the baseline and its band."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from perfcase.case.rows import table_of
from perfcase.fleet.bands import Split, run_starts
from perfcase.fleet.baseline import Baseline
from perfcase.fleet.captures import Capture, SkippedCapture
from perfcase.fleet.metric import Reading
from perfcase.lazy import duckdb

Order = Literal["time", "host", "ticket", "label"]
"""What captures are ordered by before time."""

COLUMNS = {
    "recorded_at": "VARCHAR",
    "host": "VARCHAR",
    "ticket": "VARCHAR",
    "note": "VARCHAR",
    "labels": "VARCHAR",
    "capture": "VARCHAR",
    "duration_ns": "BIGINT",
    "kernel": "VARCHAR",
    "cpu_count": "UINTEGER",
    "cpu_model": "VARCHAR",
    "row_count": "BIGINT",
    "value": "DOUBLE",
    "value_per_s": "DOUBLE",
    "in_baseline": "BOOLEAN",
    "baseline_median": "DOUBLE",
    "baseline_mad": "DOUBLE",
    "deviation": "DOUBLE",
    "deviation_mads": "DOUBLE",
    "band": "VARCHAR",
    "band_since": "VARCHAR",
    "problem": "VARCHAR",
}
"""Columns and their types; --format json and the like have those that the question has."""

_FACTS = ("recorded_at", "host", "ticket", "note", "labels", "capture")


@dataclass
class Answer:
    """What is shown of each capture."""

    captures: Sequence[Capture]
    readings: Mapping[str, Reading]
    """By the capture's name; empty where no metric was asked for."""
    baseline: Baseline | None = None
    chosen: frozenset[str] = frozenset()
    """Names of the captures of the baseline."""
    split: Split | None = None
    order: str = "time"

    def value(self, capture: Capture) -> float | None:
        """Return what a capture is compared by."""
        reading = self.readings.get(capture.name)
        return reading.compared if reading else None

    def groups(self) -> dict[str | None, list[Capture]]:
        """Return the captures by what they are ordered by, each group in the order of time; those without it last."""
        groups: dict[str | None, list[Capture]] = {}
        for capture in sorted(self.captures, key=lambda capture: capture.time_key):
            groups.setdefault(group_of(capture, self.order), []).append(capture)
        return dict(sorted(groups.items(), key=lambda item: (item[0] is None, item[0] or "")))

    def bands(self) -> dict[str, tuple[str, str]]:
        """Return by name the band of a capture, and since when its host is in it."""
        if self.split is None or not self.split.is_banded:
            return {}
        hosts: dict[str, list[tuple[Capture, str]]] = {}
        for capture in sorted(self.captures, key=lambda capture: capture.time_key):
            value = self.value(capture)
            if value is not None:
                hosts.setdefault(capture.host or capture.name, []).append((capture, self.split.band(value)))
        found = {}
        for seen in hosts.values():
            starts = run_starts([band for _, band in seen])
            for (capture, band), start in zip(seen, starts, strict=True):
                first = seen[start][0]
                found[capture.name] = (band, wall(first.started_realtime_ns) or first.name)
        return found

    def columns(self) -> list[str]:
        """Return the columns that the question has."""
        names = [*_FACTS, "duration_ns", "kernel", "cpu_count", "cpu_model"]
        if self.readings:
            is_amount = any(reading.per_s is not None for reading in self.readings.values())
            names = [*_FACTS, "row_count", "value", *(["value_per_s"] if is_amount else [])]
        if self.baseline:
            names += [name for name in COLUMNS if "baseline" in name or "deviation" in name]
        if self.split:
            names += ["band", "band_since"]
        return [*names, "problem"]


def group_of(capture: Capture, order: str) -> str | None:
    """Return what a capture is ordered by before time."""
    return {"time": "", "host": capture.host, "ticket": capture.ticket, "label": ", ".join(capture.labels) or None}[
        order
    ]


def wall(realtime_ns: int | None) -> str | None:
    """Return a time for people and for sorting: 2026-01-05 14:30:00 (UTC)."""
    if realtime_ns is None:
        return None
    try:
        return datetime.fromtimestamp(realtime_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return None


def as_table(answer: Answer, left_out: Iterable[SkippedCapture]) -> duckdb.DuckDBPyConnection:
    """Return a connection with the rows in the table ``history``; what was left out comes last."""
    bands = answer.bands()
    rows = [_row(answer, capture, bands) for group in answer.groups().values() for capture in group]
    rows += [{"capture": entry.name, "problem": entry.reason} for entry in left_out]
    columns = {name: COLUMNS[name] for name in answer.columns()}
    return table_of("history", columns, [[row.get(name) for name in columns] for row in rows])


def _row(answer: Answer, capture: Capture, bands: Mapping[str, tuple[str, str]]) -> dict[str, object]:
    row: dict[str, object] = {
        "recorded_at": wall(capture.started_realtime_ns),
        "host": capture.host,
        "ticket": capture.ticket,
        "note": capture.note,
        "labels": ", ".join(capture.labels) or None,
        "capture": capture.name,
        "duration_ns": capture.duration_ns,
        "kernel": capture.kernel,
        "cpu_count": capture.cpu_count,
        "cpu_model": capture.cpu_model,
    }
    reading = answer.readings.get(capture.name)
    if reading:
        row |= {"row_count": reading.row_count, "value": reading.value, "value_per_s": reading.per_s}
        row["problem"] = reading.problem
    if answer.baseline:
        value = answer.value(capture)
        row |= {
            "in_baseline": capture.name in answer.chosen,
            "baseline_median": answer.baseline.median,
            "baseline_mad": answer.baseline.mad,
            "deviation": answer.baseline.deviation(value),
            "deviation_mads": answer.baseline.deviation_mads(value),
        }
    if capture.name in bands:
        row["band"], row["band_since"] = bands[capture.name]
    return row

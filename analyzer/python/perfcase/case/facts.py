"""What a capture says about itself. import.json has it, too: a list of a thousand captures then opens no table."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfcase.lazy import duckdb

# Cast: the one who made the file chose its types.
_COLUMNS: Mapping[str, tuple[type, str]] = {
    "capture_id": (str, "capture_id::VARCHAR"),
    "started_realtime_ns": (int, "try_cast(start_realtime_ns AS BIGINT)"),
    "duration_ns": (int, "try_cast(duration_ns AS BIGINT)"),
    "host": (str, "hostname::VARCHAR"),
    "ticket": (str, "ticket::VARCHAR"),
    "note": (str, "note::VARCHAR"),
    "labels": (str, "coalesce(labels::VARCHAR, '')"),
    "kernel": (str, "kernel_release::VARCHAR"),
    "cpu_count": (int, "try_cast(cpu_count AS UINTEGER)"),
    "cpu_model": (str, "cpu_model::VARCHAR"),
}
_READ = ", ".join(sql for _, sql in _COLUMNS.values())


@dataclass(frozen=True, kw_only=True)
class Facts:
    """They are None where nothing is known."""

    capture_id: str | None = None
    started_realtime_ns: int | None = None
    duration_ns: int | None = None
    host: str | None = None
    ticket: str | None = None
    note: str | None = None
    labels: str | None = ""
    """Separated by commas."""
    kernel: str | None = None
    cpu_count: int | None = None
    cpu_model: str | None = None


def told(info: Mapping[str, Any]) -> Facts | None:
    """Return what an import.json says; None if it says nothing, or what no import writes."""
    found = info.get("capture")
    if not isinstance(found, dict) or found.keys() != _COLUMNS.keys():
        return None
    return Facts(**found) if all(_is(found[name], kind) for name, (kind, _) in _COLUMNS.items()) else None


def _is(value: object, kind: type) -> bool:
    if value is None:
        return True
    # JSON has half characters and numbers of any size.
    if isinstance(value, str):
        return kind is str and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))
    return type(value) is kind and abs(value) < 1 << 63


def read(folder: Path) -> Facts:
    """Read it from the table of an import.

    Raises:
        duckdb.Error: the table cannot be read.
    """
    path = glob.escape(str(folder / "tables" / "capture.parquet"))
    with duckdb.cursor() as connection:
        rows = connection.execute(f"SELECT {_READ} FROM read_parquet($1) LIMIT 1", [path]).fetchall()
    return _facts(rows[0]) if rows else Facts()


def read_all(folders: Iterable[Path]) -> dict[Path, Facts]:
    """Return what each of the imports says in its table: all in one question, if all can be read; else none."""
    tables = {str(folder / "tables" / "capture.parquet"): folder for folder in folders}
    if not tables:
        return {}
    with suppress(duckdb.Error), duckdb.cursor() as connection:
        rows = connection.execute(
            f"SELECT filename, {_READ} FROM read_parquet($1, filename = true, file_row_number = true, union_by_name = true)"
            " WHERE file_row_number = 0",
            [[*map(glob.escape, tables)]],
        ).fetchall()
        return {tables[path]: _facts(row) for path, *row in rows}
    return {}


def _facts(row: Iterable[Any]) -> Facts:
    return Facts(**dict(zip(_COLUMNS, row, strict=True)))

"""The rows of a command in each format that programs read."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from nanoarrow import ArrayStream

Row = dict[str, Any]


def assert_same_in_every_format(rows: list[Row], folder: Path, write: Callable[[str, Path], None]) -> None:
    """Holds csv, arrow and parquet to the rows that json has. ``write`` writes a format into a file of ``folder``."""
    assert rows
    paths = {fmt: folder / f"rows.{fmt}" for fmt in ("csv", "arrow", "parquet")}
    for fmt, path in paths.items():
        write(fmt, path)
    with paths["csv"].open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == [{name: _cell(value) for name, value in row.items()} for row in rows]
    arrays = ArrayStream.from_readable(io.BytesIO(paths["arrow"].read_bytes())).read_all()
    assert [_plain(row) for row in arrays.to_pylist()] == rows
    with duckdb.connect() as connection:
        relation = connection.from_parquet(str(paths["parquet"]))
        assert [_plain(dict(zip(relation.columns, row, strict=True))) for row in relation.fetchall()] == rows


def _cell(value: object) -> str:
    """A value of json as csv has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)


def _plain(row: Row) -> Row:
    """A row without what json has no word for."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }

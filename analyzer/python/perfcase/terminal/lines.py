"""Rows as CSV or JSON.

DuckDB makes the lines of the types that tables and views have: Python takes ten times as long to make an object of each value, and text of
each object. It makes the lines of results with other types, and the same text of these: a test compares them. Two things differ: DuckDB's
CSV quotes a carriage return, and its JSON writes the digits of an escaped control character in capitals.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from perfcase.case import exact
from perfcase.case.query import Result
from perfcase.catalogue.schema import literal

_INTEGERS = (
    "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint", "uhugeint",
)  # fmt: skip
_CELL, _ROW = "\x1f", "\x1e"
_TEXTS = ("varchar", "enum", *exact.IN_PYTHON)


def csv_text(result: Result) -> Iterator[str]:
    """Yield a result as CSV, in parts."""
    made = result.lines(csv_line)
    yield _csv([result.columns])
    yield from made or (_csv([[_csv_cell(value) for value in row] for row in batch]) for batch in result.batches())


def json_text(result: Result) -> Iterator[str]:
    """Yield a result as a JSON array of objects, in parts."""
    made = result.lines(lambda names, kinds: json_line(unique(names), kinds))
    names = unique(result.columns)
    begin = "["
    for text in made or ("".join(_json_line(names, row) for row in batch) for batch in result.batches()):
        # Each line begins with the comma after the one before; the first has none.
        yield begin + (text[1:] if begin else text)
        begin = ""
    yield begin + "\n]\n"


def columns_text(result: Result) -> Iterator[str]:
    """Yield a result as a JSON object with a list for each column, a part for each: shorter than an object for each row, and quicker to read."""
    made = result.lines(cells_line)
    names = unique(result.columns)
    batches = (
        ([row.split(_CELL) for row in text.split(_ROW)[:-1]] for text in made)
        if made is not None
        else ([[_json(value) for value in row] for row in batch] for batch in result.batches())
    )
    columns: list[list[str]] = [[] for _ in names]
    for rows in batches:
        # As text at once: an object for each cell takes several times as much room.
        for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
            column.append(",".join(cells))
    begin = "{"
    for name, column in zip(names, columns, strict=True):
        yield f"{begin}\n{_json(name)}: [{','.join(column)}]"
        begin = ","
    yield "\n}\n"


def cells_line(_names: Sequence[str], kinds: Sequence[exact.Kind]) -> str | None:
    """Return the same as ``csv_line`` for values of JSON with signs between them that JSON only has escaped."""
    values = [_json_sql(f"c{at}", kind) for at, kind in enumerate(kinds)]
    if None in values:
        return None
    listed = ", ".join(f"coalesce({value}, 'null')" for value in values)
    return f"concat(concat_ws(chr({ord(_CELL)}), {listed}), chr({ord(_ROW)}))"


def csv_line(_names: Sequence[str], kinds: Sequence[exact.Kind]) -> str | None:
    """Return the SQL of a row's line, with its end, over the columns ``c0``, ``c1``, …; None where a type has no such SQL."""
    cells = [_csv_cell_sql(f"c{at}", kind) for at, kind in enumerate(kinds)]
    if None in cells:
        return None
    if len(cells) == 1:
        # An empty line would be no row.
        cells = [f"coalesce(nullif({cells[0]}, ''), '\"\"')"]
    listed = ", ',', ".join(map(str, cells))
    return f"concat({listed}, E'\\n')"


def json_line(names: Sequence[str], kinds: Sequence[exact.Kind]) -> str | None:
    """Return the same for an object of JSON, with the comma before it. The names differ from each other."""
    values = [_json_sql(f"c{at}", kind) for at, kind in enumerate(kinds)]
    if None in values:
        return None
    parts = [
        f"{literal((', ' if at else '') + json.dumps(name, ensure_ascii=False) + ': ')}, coalesce({value}, 'null')"
        for at, (name, value) in enumerate(zip(names, values, strict=True))
    ]
    return f"concat(E',\\n{{', {', '.join(parts)}, '}}')"


def _csv_cell_sql(value: str, kind: exact.Kind) -> str | None:
    if kind.id in (*_TEXTS, "list"):
        text = _json_sql(value, kind) if kind.id == "list" else f"{value}::VARCHAR"
        special = " OR ".join(f"contains({text}, {sign})" for sign in ("','", "'\"'", "E'\\n'", "E'\\r'"))
        return text and f"""CASE WHEN {special} THEN concat('"', replace({text}, '"', '""'), '"') ELSE {text} END"""
    if kind.id in ("float", "double"):
        return f"CASE WHEN isnan({value}) THEN 'nan' ELSE {value}::DOUBLE::VARCHAR END"
    return _plain_sql(value, kind)


def _json_sql(value: str, kind: exact.Kind, depth: int = 0) -> str | None:
    if kind.id in _TEXTS:
        return f"to_json({value}::VARCHAR)::VARCHAR"
    if kind.id == "blob":
        return f"""'"' || {_plain_sql(value, kind)} || '"'"""
    if kind.id in ("float", "double"):
        return f"CASE WHEN isfinite({value}) THEN {value}::DOUBLE::VARCHAR END"
    if kind.id == "list":
        item = _json_sql(f"v{depth}", dict(kind.children)["child"], depth + 1)
        each = f"list_transform({value}, lambda v{depth}: coalesce({item}, 'null'))"
        return (
            item and f"CASE WHEN {value} IS NOT NULL THEN '[' || coalesce(array_to_string({each}, ', '), '') || ']' END"
        )
    return _plain_sql(value, kind)


def _plain_sql(value: str, kind: exact.Kind) -> str | None:
    """Return the SQL of a value that is written alike in both formats."""
    if kind.id in _INTEGERS or kind.id == "boolean":
        return f"{value}::VARCHAR"
    return f"lower(hex({value}))" if kind.id == "blob" else None


def _csv(rows: Iterable[Sequence[object]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(plain(value), ensure_ascii=False)
    return value.hex() if isinstance(value, bytes) else value


def _json_line(names: Sequence[str], row: Sequence[object]) -> str:
    return ",\n" + _json(dict(zip(names, row, strict=True)))


def _json(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def unique(names: Iterable[str]) -> list[str]:
    """Return column names made different from each other: a, a_1."""
    seen: set[str] = set()
    found = []
    for name in names:
        candidate, number = name, 0
        while candidate in seen:
            number += 1
            candidate = f"{name}_{number}"
        seen.add(candidate)
        found.append(candidate)
    return found


def plain(value: object) -> object:
    """Return a value that JSON has. NaN and infinities become null, bytes hex, times text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Decimal) and value.is_finite() and value.as_tuple().exponent >= 0:
        # Without a fraction, as sums are: all of its digits.
        return int(value)
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return str(value)

"""Compares a redacted capture with its original: every table and view, pseudonyms translated back."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Set
from pathlib import Path
from typing import Any

from perfcase.case import store
from perfcase.case.opening import Opened
from perfcase.redaction.pseudonyms import Pseudonyms

OTHER = {
    ("capture", "capture_id"), ("capture", "name"), ("finding", "capture_id"), ("small_hot_functions", "top_caller"),
}  # fmt: skip
"""What differs: the identity of the file, and which of equal callers is the first by its name."""

_LISTED = "SELECT view_name FROM duckdb_views() WHERE NOT internal UNION SELECT table_name FROM table_rows ORDER BY 1"


def differences(
    original: Path, redacted: Path, key: Path, names: set[str] | None = None, other: Set[tuple[str, str]] = frozenset()
) -> list[str]:
    """The tables and views whose rows differ, with the first row of each side that the other does not have. ``other``: columns that differ too."""
    back = Back(Pseudonyms.read(key))
    found = []
    with _opened(original) as before, _opened(redacted) as after:
        listed = [before.connection.sql(_LISTED).fetchall(), after.connection.sql(_LISTED).fetchall()]
        if listed[0] != listed[1]:
            found.append("the tables differ")
        for (name,) in listed[0]:
            if names is not None and name not in names:
                continue
            sides = [_rows(before, name, None, OTHER | other), _rows(after, name, back, OTHER | other)]
            if sides[0] != sides[1]:
                only = [sorted((a - b).elements(), key=repr)[:1] for a, b in (sides, sides[::-1])]
                found.append(f"{name}: {only[0]} / {only[1]}")
    return found


class Back:
    """Translates cells back."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self._key = pseudonyms
        self._all = pseudonyms.values | pseudonyms.texts
        self._known: dict[str, str] = {}
        for made, value in pseudonyms.values.items():
            for before, after in zip(_packed(made), _packed(value), strict=False):
                self._all.setdefault(before, after)

    def __call__(self, cell: Any) -> Any:
        if isinstance(cell, str):
            if cell not in self._known:
                text = cell.encode("utf-8", "surrogateescape")
                whole = self._all.get(text)
                self._known[cell] = (self._key.reveal(text) if whole is None else whole).decode("utf-8", "replace")
            return self._known[cell]
        if isinstance(cell, bytes):
            return self._all.get(cell, cell)
        if isinstance(cell, int) and not isinstance(cell, bool):
            return self._key.number(cell)
        if isinstance(cell, list | tuple):
            return [self(each) for each in cell]
        if isinstance(cell, dict):
            return {name: self(each) for name, each in cell.items()}
        return cell


def _packed(address: bytes) -> list[bytes]:
    try:
        return [ipaddress.ip_address(address.decode()).packed]
    except ValueError:
        return [bytes.fromhex(address.decode().replace(":", ""))] if address.count(b":") == 5 else []


def _opened(file: Path) -> Opened:
    return Opened(store.open_case(file), (), file)


def _rows(case: Opened, name: str, back: Back | None, other: Set[tuple[str, str]]) -> Counter[tuple[Any, ...]]:
    relation = case.connection.sql(f'SELECT * FROM "{name}"')
    skipped = [(name, column) in other for column in relation.columns]
    rows: Counter[tuple[Any, ...]] = Counter()
    for some in [relation.fetchall()]:
        rows.update(
            tuple(
                None if skip else _frozen(back(cell) if back else cell) for cell, skip in zip(row, skipped, strict=True)
            )
            for row in some
        )
    return rows


def _frozen(cell: Any) -> Any:
    if isinstance(cell, float):
        # Threads of DuckDB add numbers up in any order.
        return f"{cell:.9g}"
    return repr(list(cell)) if isinstance(cell, tuple) else repr(cell) if isinstance(cell, list | dict) else cell

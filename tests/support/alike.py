"""Rows of two answers, to be compared as sets: by value, floats by nine digits, as DuckDB and Spark add in any order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal

_ALIKE = {int, str, bool, type(None)}
"""Types whose values are as they are in both: most of them."""


def counted(rows: Iterable[Sequence[object]]) -> Counter[tuple]:
    """How often each row is there."""
    return Counter(tuple([each if type(each) in _ALIKE else plain(each) for each in row]) for row in rows)


def plain(value: object) -> object:
    """A value that is equal in both."""
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return tuple((name, plain(each)) for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return value

"""Figures of a diff as people read them: each in the unit of the largest that it stands beside."""

from __future__ import annotations

from perfcase import text
from perfcase.diff.compare import Difference


def amount(difference: Difference, absolute: float | None, divided: float | None) -> str:
    """Return one side: the divided figure, and the absolute one behind it."""
    if absolute is None or divided is None:
        return "-"
    shown = value(difference, divided)
    return f"{shown} ({scaled(difference.unit, absolute, difference.a, difference.b)})" if difference.per else shown


def value(difference: Difference, divided: float) -> str:
    """Return a figure of a line, in the unit that all of the line have, with what it is divided by."""
    shown = scaled(difference.unit, divided, difference.a_per, difference.b_per)
    return f"{shown}/{difference.per}" if difference.per else shown


def scaled(unit: str | None, figure: float, *beside: float | None) -> str:
    """Return a figure of three digits, in the unit of the largest that it stands beside, unless it is less than a thousandth of one."""
    largest = max((abs(each) for each in beside if each is not None), default=abs(figure))
    base, _, per = (unit or "").partition("/")
    if unit == "ratio" and max(largest, abs(figure)) <= 1:
        return text.ratio(figure)
    if unit == "ns" and figure and largest >= text.LONG_NS:
        return text.duration(figure)
    if base not in _SCALES:
        if base == "1":
            return f"{text.figure(figure)}/{per}"
        return f"{text.figure(figure)} {unit}" if unit not in _NAMED else text.figure(figure)
    name, scale = next((each for each in _SCALES[base] if largest >= each[1]), _SCALES[base][-1])
    if 0 < abs(figure) < scale / 1000:
        return scaled(unit, figure)
    return f"{text.figure(figure / scale)} {name}{f'/{per}' if per else ''}"


_NAMED = (None, "count", "ratio", "instructions/cycle", "cycles/instruction")
"""Units that the measure's own name says, such as ipc."""
_SCALES = {
    "ns": (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)),
    "bytes": (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0)),
}

"""Bars and sparklines in text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from perfcase.catalogue.plot import Histogram, Intervals, Plan
from perfcase.lazy import rich
from perfcase.text import count, duration, figure, plural, ratio, safe, shorten, size

INTERVALS_MIN = 4
"""Fewer are better read as numbers."""
GROUPS_MAX = 40
LABEL_MAX = 60
BAR_MAX = 60
SPARK_MAX = 100

_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEVELS = "▁▂▃▄▅▆▇█"

Row = Sequence[Any]
Groups = dict[tuple, list[Row]]


def draw(plan: Plan, columns: Sequence[str], rows: Sequence[Row], console: rich.console.Console, width: int) -> bool:
    """Draw the rows. Return False if numbers are easier to read."""
    at = {name: place for place, name in enumerate(columns)}
    if not rows or any(name not in at for name in _used(plan)):
        return False
    groups: Groups = {}
    for row in rows:
        groups.setdefault(tuple(row[at[key]] for key in plan.keys), []).append(row)
    if isinstance(plan, Histogram):
        _histograms(plan, at, groups, console, width)
    else:
        times = sorted({row[at[plan.time]] for row in rows if row[at[plan.time]] is not None})
        # Labels that differ from interval to interval make no series.
        if len(times) < INTERVALS_MIN or 2 * len(groups) > len(rows):
            return False
        _intervals(plan, at, groups, times, console, width)
    if len(groups) > GROUPS_MAX:
        _dim(console, f"and {len(groups) - GROUPS_MAX:,} more; --where chooses, --no-plot gives the numbers")
    return True


def _used(plan: Plan) -> tuple[str, ...]:
    if isinstance(plan, Histogram):
        return (plan.low, plan.high, plan.count, *plan.keys)
    return (plan.time, *plan.values, *plan.keys)


def _dim(console: rich.console.Console, text: str) -> None:
    console.print(rich.text.Text(text, style="dim"), soft_wrap=True)


def _histograms(plan: Histogram, at: dict[str, int], groups: Groups, console: rich.console.Console, width: int) -> None:
    write = {"ns": duration, "bytes": size}.get(plan.unit or "", count)
    for key, rows in list(groups.items())[:GROUPS_MAX]:
        if plan.keys:
            label = "  ".join(
                f"{name} {_word(value)}" for name, value in zip(plan.keys, key, strict=True) if value is not None
            )
            console.print(rich.text.Text(safe(label), style="bold"), soft_wrap=True)
        buckets = with_gaps([(row[at[plan.low]], row[at[plan.high]], row[at[plan.count]] or 0) for row in rows])
        most = max(number for *_, number in buckets)
        lines = [(f"{write(low)} – {write(high)}", f"{number:,}", number) for low, high, number in buckets]
        left, right = (max(len(line[n]) for line in lines) for n in (0, 1))
        room = max(min(width - left - right - 6, BAR_MAX), 8)
        for label, number, value in lines:
            line = rich.text.Text(f"  {label:>{left}}  {number:>{right}} ")
            console.print(line.append(bar(value, most, room), style="cyan"), soft_wrap=True)
    _dim(console, f"{plural(len(groups), 'histogram')}; --no-plot gives the rows")


def with_gaps(buckets: Iterable[tuple[Any, Any, int]]) -> list[tuple[Any, Any, int]]:
    """Return the buckets in order, with those of doubling size between them that nothing fell into."""
    filled: list[tuple[Any, Any, int]] = []
    for low, high, number in sorted((b for b in buckets if b[0] is not None and b[1] is not None), key=lambda b: b[:2]):
        while filled and len(filled) < 128:
            end = filled[-1][1]
            inclusive = end % 2 if isinstance(end, int) and end > 1 else 0
            start = end + inclusive
            if start <= 0 or start >= low:
                break
            filled.append((start, 2 * start - inclusive, 0))
        filled.append((low, high, number))
    return filled or [(0, 0, 0)]


def bar(value: float, most: float, room: int) -> str:
    """Return a bar of at most ``room`` characters; anything above 0 shows."""
    if not value or most <= 0:
        return ""
    eighths = max(round(8 * room * value / most), 1)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _intervals(
    plan: Intervals, at: dict[str, int], groups: Groups, times: Sequence[Any], console: rich.console.Console, width: int
) -> None:
    place = {time: number for number, time in enumerate(times)}
    lines = []
    for key, rows in list(groups.items())[:GROUPS_MAX]:
        for name, unit in zip(plan.values, plan.units, strict=True):
            series: list[float | None] = [None] * len(times)
            weights: list[float] = [0.0] * len(times)
            for row in rows:
                value = row[at[name]]
                if value is not None and row[at[plan.time]] is not None:
                    series[place[row[at[plan.time]]]] = float(value)
                    weights[place[row[at[plan.time]]]] = float(row[at[plan.length]] or 0) if plan.length in at else 1.0
            known = [value for value in series if value is not None]
            # A rate that was always 0 tells nothing beside others.
            if known and (any(known) or len(plan.values) == 1):
                lines.append((key, name, unit, min(known), mean(series, weights), max(known), series))
    table = rich.table.Table(box=rich.box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in plan.keys:
        table.add_column(rich.text.Text(safe(name)), no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for name in ("min", "mean", "max"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"{len(times)} intervals, each line from 0 to its max", no_wrap=True)
    words = [([_word(value) for value in key], name) for key, name, *_ in lines]
    taken = sum(max((len(w[0][n]) for w in words), default=0) + 3 for n in range(len(plan.keys)))
    taken += max((len(name) for _, name in words), default=0) + 3 + 3 * 10
    room = max(min(width - taken - 2, SPARK_MAX), 10)
    for key, name, unit, least, middle, most, series in lines:
        cells = [rich.text.Text(safe(_word(value))) for value in key]
        write = _WRITERS.get(unit or "", _number)
        cells += [rich.text.Text(name), *(rich.text.Text(write(value)) for value in (least, middle, most))]
        table.add_row(*cells, rich.text.Text(spark(series, most, room), style="cyan"))
    console.print(table, crop=False)
    _dim(console, "lines that are 0 throughout are left out; --no-plot gives the numbers")


def mean(series: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """Return the mean, by the lengths of the intervals where they are known."""
    known = [(value, weight) for value, weight in zip(series, weights, strict=True) if value is not None]
    total = sum(weight for _, weight in known)
    if total <= 0:
        return sum(value for value, _ in known) / len(known) if known else None
    return sum(value * weight for value, weight in known) / total


def spark(series: Sequence[float | None], most: float, room: int) -> str:
    """Return a line of at most ``room`` characters; where there are more values, each stands for the largest of its share."""
    step = max(len(series) / room, 1)
    shown = []
    at = 0.0
    while at < len(series) - 1e-9:
        part = [value for value in series[int(at) : max(int(at + step), int(at) + 1)] if value is not None]
        shown.append(_level(max(part), most) if part else " ")
        at += step
    return "".join(shown)


def _level(value: float, most: float) -> str:
    if most <= 0 or value <= 0:
        return _LEVELS[0]
    return _LEVELS[min(int(value / most * (len(_LEVELS) - 1) + 0.5), len(_LEVELS) - 1)]


def _number(value: float | None) -> str:
    return "-" if value is None else figure(value)


_WRITERS = {
    "ratio": ratio,
    "ns": duration,
    "bytes": size,
    "bytes/s": lambda value: f"{size(value)}/s",
}


def _word(value: object) -> str:
    return shorten(safe("-" if value is None else str(value)), LABEL_MAX)

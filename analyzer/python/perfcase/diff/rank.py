"""What changed most, over all views: each difference with the reason why it stands where it does.

    score = weight of the view × effect × √share × confidence

effect: the difference as a share of the larger side. share: what it is of the whole view. confidence: 1 for a difference far
beyond how the figure varies within the captures, less near it; below ``SIGMAS`` standard errors it is noise and not ranked.
Further keys of a view count less than its first, so that the list begins with one line a view, and only the measure of a key
that scores most is a line; the others stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from perfcase.case.kept import Kept, kept_of
from perfcase.case.sharing import forget, share
from perfcase.case.window import move, open_window
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views, with_dependencies
from perfcase.diff.collect import Collected, Figure, Key, collect_all, figures, read_kept, reads, to_keep
from perfcase.diff.compare import Difference, Side, differences
from perfcase.diff.sides import SIDES, fed_views, on_both
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

SIGMAS = 3.0
"""Differences of fewer standard errors are noise: with a thousand figures one in 370 is beyond that by chance alone."""
PARTS = 4
"""Into how many windows a capture is cut to see how much a figure varies that has no intervals of its own."""
NOISE_VIEWS_MAX = 8
"""Views for which that is done: those at the top."""
_BRIEF = "descriptor"
"""A table whose things are used for a short time, as a rule: how they differ between windows says little about noise. What is
made from it is not asked for in windows."""
NEXT_IN_VIEW = 0.8
"""What the score of each further key of the same view is multiplied by."""
UNKNOWN_CONFIDENCE = 0.7
"""The confidence in a difference with an unknown variance."""
BESIDE_WEIGHT = 0.5
"""The weight of a measure of a view that names others as its main ones."""
MAX_WEIGHT = 0.5
"""The weight of a largest value beside a sum or a mean: it has happened once."""
RECORDER_WEIGHT = 0.05
"""The weight of what the recorder's own threads did."""


@dataclass(frozen=True)
class Ranked:
    """A line of the list."""

    difference: Difference
    score: float
    sigmas: float | None
    """The difference in standard errors; None where these are not known."""
    beside: tuple[Difference, ...] = ()
    """Other measures of the same key that changed, beyond noise."""
    is_recorder: bool = False
    """It is about the recorder's own threads."""

    @property
    def also(self) -> tuple[str, ...]:
        """The names of the other measures."""
        return tuple(each.measure.name for each in self.beside)

    @property
    def is_noise(self) -> bool:
        """Whether it is no more than chance."""
        return self.sigmas is not None and self.sigmas < SIGMAS


@dataclass(frozen=True)
class NotCompared:
    """A view that only one side has, or none."""

    view: str
    lacks: str
    """A, B or both."""
    why: str = ""
    """Why it cannot be worked out there; empty where it has no rows."""


@dataclass(frozen=True)
class Ranking:
    """All of it."""

    lines: list[Ranked]
    noise: list[Ranked]
    not_compared: list[NotCompared]
    compared: list[str]


def rank(a: Side, b: Side, names: Iterable[str] | None = None) -> Ranking:
    """Compare all views that declare how, or the named ones."""
    views = load_views()
    wanted = [name for name in views if views[name].diff] if names is None else list(names)
    fed = [side & {*wanted} for side in on_both(a, b, fed_views)]
    fed = [fed[0] | _without_events(a, fed[1] - fed[0]), fed[1] | _without_events(b, fed[0] - fed[1])]
    both = [name for name in wanted if name in fed[0] and name in fed[1]]
    lacking = [
        NotCompared(name, "both" if not any(name in side for side in fed) else "A" if name not in fed[0] else "B")
        for name in wanted
        if name not in both
    ]
    found: dict[str, list[Difference]] = {}
    too_large: dict[int, dict[str, str]] = {id(a): {}, id(b): {}}
    # For a single view the error itself says more.
    of_a, of_b = on_both(
        a,
        b,
        lambda side: collect_all(
            side.connection, [views[name] for name in both], too_large[id(side)] if names is None else None
        ),
    )
    lacking += _too_large(too_large[id(a)], too_large[id(b)])
    both = [name for name in both if name in of_a and name in of_b]
    collected = {name: (of_a[name], of_b[name]) for name in both}
    for name in list(both):
        empty = [side for side, of_side in zip("AB", collected[name], strict=True) if not of_side.rows]
        if empty and (not views[name].diff.keys or len(empty) == 2):
            both.remove(name)
            lacking += [NotCompared(name, empty[0] if len(empty) == 1 else "both")]
            continue
        found[name] = differences(views[name], a, b, *collected[name])
    _add_noise(views, found, collected, a, b)
    recorder = recorder_names(a.connection) | recorder_names(b.connection)
    return ranked(found, recorder, lacking, both, is_one_view=names is not None)


def ranked(
    found: Mapping[str, Iterable[Difference]],
    recorder: set[str],
    lacking: list[NotCompared],
    compared: list[str],
    *,
    is_one_view: bool,
) -> Ranking:
    """Return the list of what was found in each view. One view: a line for each measure of each key."""
    views = load_views()
    scored = [_scored(views, each, recorder) for rows in found.values() for each in rows]
    lines = (
        [each for each in scored if not each.is_noise] if is_one_view else _spread_over_views(_one_line_each(scored))
    )
    return Ranking(
        sorted(lines, key=_order),
        sorted((each for each in scored if each.is_noise), key=_order),
        lacking,
        compared,
    )


def _too_large(a: Mapping[str, str], b: Mapping[str, str]) -> list[NotCompared]:
    return [
        NotCompared(name, "both" if name in a and name in b else "A" if name in a else "B", a.get(name) or b[name])
        for name in sorted({*a, *b})
    ]


def _order(each: Ranked) -> tuple:
    return (-each.score, each.difference.view, tuple(map(str, each.difference.key)), each.difference.measure.name)


def _without_events(side: Side, names: set[str]) -> set[str]:
    """Return views whose tracepoints were recorded and never came: there is nothing in them, and that is a figure."""
    rows = side.connection.execute(
        "SELECT table_name, string_split(name, ':')[2] FROM table_rows, perf_event WHERE type = 'tracepoint' AND row_count = 0"
    ).fetchall()
    recorded = {table for table, event in rows if table == event}
    needed = side.connection.execute("SELECT view_name, alternative, table_name FROM requirement").fetchall()
    alternatives: dict[tuple[str, int], set[str]] = {}
    for view, alternative, table in needed:
        alternatives.setdefault((view, alternative), set()).add(table)
    return {view for (view, _), tables in alternatives.items() if view in names and tables <= recorded}


def recorder_names(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return what the recorder's own threads and processes are called."""
    rows = connection.execute(
        "SELECT comm FROM recorder_thread WHERE comm IS NOT NULL UNION SELECT split_part(process, ':', 1) FROM recorder_process"
    ).fetchall()
    return {row[0] for row in rows} - {"sh"}


def _scored(views: Mapping[str, View], each: Difference, recorder: set[str]) -> Ranked:
    weight = views[each.view].diff.weight
    sigmas = _sigmas(each)
    confidence = UNKNOWN_CONFIDENCE if sigmas is None else 1.0 if math.isinf(sigmas) else sigmas**2 / (sigmas**2 + 9)
    is_recorder = not recorder.isdisjoint(each.key)
    if is_recorder:
        weight = min(weight, RECORDER_WEIGHT)
    if each.measure.kind == "max":
        weight *= MAX_WEIGHT
    if not each.measure.is_apart and any(other.is_apart for other in views[each.view].diff.measures):
        weight *= BESIDE_WEIGHT
    score = weight * each.effect * math.sqrt(each.share) * confidence
    return Ranked(each, score, sigmas, is_recorder=is_recorder)


def _sigmas(each: Difference) -> float | None:
    if each.error is None:
        return None
    return abs(each.difference) / each.error if each.error else math.inf


def _one_line_each(scored: Iterable[Ranked]) -> Iterator[Ranked]:
    """Yield the measure of each key that scores most."""
    by_key: dict[tuple[str, Key, str], list[Ranked]] = {}
    for each in scored:
        if not each.is_noise:
            apart = each.difference.measure.name if each.difference.measure.is_apart else ""
            by_key.setdefault((each.difference.view, each.difference.key, apart), []).append(each)
    for group in by_key.values():
        best, *others = sorted(group, key=_order)
        yield replace(best, beside=tuple(other.difference for other in others))


def _spread_over_views(lines: Iterable[Ranked]) -> list[Ranked]:
    seen: dict[str, int] = {}
    spread = []
    for each in sorted(lines, key=_order):
        before = seen.get(each.difference.view, 0)
        seen[each.difference.view] = before + bool(each.difference.key)
        spread.append(replace(each, score=each.score * NEXT_IN_VIEW**before))
    return spread


def _add_noise(
    views: Mapping[str, View],
    found: dict[str, list[Difference]],
    collected: Mapping[str, tuple[Collected, Collected]],
    a: Side,
    b: Side,
) -> None:
    """Compute errors for the top views without intervals, from windows of the captures."""
    best = {
        name: max((_scored(views, each, set()).score for each in rows), default=0.0) for name, rows in found.items()
    }
    brief = {name for name in best if _BRIEF in _read(views, name)}
    without = [name for name in best.keys() - brief if best[name] > 0 and not collected[name][0].has_intervals]
    top = sorted(without, key=lambda name: (-best[name], name))[:NOISE_VIEWS_MAX]
    if not top or a.case is None or b.case is None:
        return
    wholes = {id(side): [collected[name][n] for name in top] for n, side in enumerate((a, b))}
    errors = on_both(a, b, lambda side: _errors(side, [views[name] for name in top], wholes[id(side)]))
    for n, name in enumerate(top):
        found[name] = differences(views[name], a, b, errors[0][n], errors[1][n])


def _read(views: Mapping[str, View], name: str) -> set[str]:
    """Return the tables and views that a view is made from."""
    return {source for view in with_dependencies(views, [name]).values() for source in view.sources}


def _errors(side: Side, views: list[View], whole: list[Collected]) -> list[Collected]:
    """Return what was collected, with errors from how the figures of the windows differ."""
    kept = kept_of(side.connection, [view.name for view in views])
    parts = [_kept_parts(kept, view) for view in views]
    # What is empty in the whole capture has no figure that varies.
    asked = [(view, part) for view, of_all, part in zip(views, whole, parts, strict=True) if of_all.rows and not part]
    counts: list[float] = []
    if asked or side.per:
        _ask_windows(side, asked, counts)
    for view, part in asked if kept else ():
        if len(part) == PARTS:
            kept.remember(f"{view.name}.parts", [to_keep(each) for each in part])
    return [
        _with_errors(view, all_of, found, counts) if len(found) in (0, PARTS) else all_of
        for view, all_of, found in zip(views, whole, parts, strict=True)
    ]


def _kept_parts(kept: Kept | None, view: View) -> list[Collected]:
    """Return the figures of a view in each window, as they are kept; else none."""
    known = kept.recall(f"{view.name}.parts") if kept else None
    parts = [read_kept(each) for each in known] if isinstance(known, list) else []
    return [part for part in parts if part] if len(parts) == PARTS and all(parts) else []


def _ask_windows(side: Side, asked: list[tuple[View, list[Collected]]], counts: list[float]) -> None:
    """Add the figures of each window to those of its view, and its part of the events that amounts are divided by."""
    bounds = [side.start_ns + side.duration_ns * n // PARTS for n in range(PARTS + 1)]
    with open_window(side.case, bounds[0], bounds[1], side.scope, SIDES) as window:
        for start_ns, end_ns in pairwise(bounds):
            forget(window)
            move(window, start_ns, end_ns)
            share(window, (name for view, _ in asked for name in reads(view)))
            if side.per:
                (count,) = window.execute(side.per_sql).fetchone() or (0,)
                counts.append((count or 0.0) / side.per_count)
            for view, part in asked:
                try:
                    part.append(figures(window, view))
                except PerfcaseError as error:
                    # It takes too much memory: how its figures vary is then not known.
                    if error.kind != "environment":
                        raise


def _with_errors(view: View, whole: Collected, parts: list[Collected], counts: list[float]) -> Collected:
    """Return ``counts``: each window's part of the events that amounts are divided by: more of them is no noise."""
    kinds = {measure.name: measure.kind for measure in view.diff.measures}
    rows: dict[Key, dict[str, Figure]] = {}
    for key, row in whole.rows.items():
        rows[key] = {}
        for name, figure in row.items():
            kind = kinds.get(name, "max")
            values = _of_parts(key, name, kind, parts)
            if kind == "sum" and counts:
                values = [value - figure.value * part for value, part in zip(values, counts, strict=True)]
            error = _error(kind, values)
            if kind == "sum" and error is not None and not counts:
                # What the windows do not have between them, nothing tells how steady it is.
                error = max(error, abs(figure.value - sum(values)))
            rows[key][name] = replace(figure, error=error)
    return replace(whole, rows=rows)


def _of_parts(key: Key, name: str, kind: str, parts: list[Collected]) -> list[float]:
    figures: list[Figure | None] = [part.rows.get(key, {}).get(name) for part in parts]
    if kind == "sum":
        return [figure.value if figure else 0.0 for figure in figures]
    return [figure.value for figure in figures if figure]


def _error(kind: str, values: list[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return {"sum": spread * math.sqrt(len(values)), "max": spread}.get(kind, spread / math.sqrt(len(values)))

"""A capture against a baseline: each of its figures beside the median of many captures, by how far it is outside of their spread.

The baseline stands where a diff has its other capture: its figures are medians, their error is 1.4826 times the MAD, which for normally
distributed figures is their standard deviation (P. Rousseeuw and C. Croux, Alternatives to the median absolute deviation, JASA 88(424),
1993). A figure that some capture of the baseline reaches is noise, whatever the spread; of counts, so is what chance alone makes of a
count that is Poisson distributed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfcase.case import query, remote
from perfcase.case.query import Result
from perfcase.catalogue.view import View
from perfcase.diff import page
from perfcase.diff.amounts import value
from perfcase.diff.collect import Collected, Figure, Key, collect_all
from perfcase.diff.compare import AMOUNTS, Side, differences, seconds_of
from perfcase.diff.rank import NotCompared, Ranked, Ranking, ranked, recorder_names
from perfcase.errors import PerfcaseError
from perfcase.fleet.baseline import baseline
from perfcase.fleet.captures import Capture, Progress, SkippedCapture, load
from perfcase.fleet.selector import select
from perfcase.lazy import duckdb, rich
from perfcase.terminal import render
from perfcase.text import plural, safe, shorten

CAPTURES_MIN = 3
"""Fewer captures have no spread."""
SIGMA_OF_MAD = 1.4826

_SECOND_NS = 10**9
"""The length of the baseline: its amounts are per second already."""

_SKIPPED_SHOWN = 3
"""Captures that an error names."""


@dataclass(frozen=True)
class BaselineResult:
    """What a capture was compared with."""

    captures: Sequence[Capture]
    left_out: Sequence[SkippedCapture]
    ranking: Ranking


def parse(text: str) -> tuple[Path | str, str | None]:
    """Parse ``STORE`` or ``STORE:SELECTOR``, where STORE is a folder or a URL."""
    if remote.is_url(text):
        scheme, _, rest = text.partition("://")
        place, found, selector = rest.partition(":")
        return f"{scheme}://{place}", selector if found else None
    if Path(text).exists():
        return Path(text), None
    at = text.find(":")
    while at >= 0:
        if Path(text[:at]).exists():
            return Path(text[:at]), text[at + 1 :]
        at = text.find(":", at + 1)
    raise PerfcaseError(
        "not_found", f"{text}: no such folder", "--baseline STORE or STORE:host=web-*,before=2026-01-05"
    )


def compare_with_baseline(
    side: Side, text: str, views: Sequence[View], progress: Progress, also: Sequence[Path | str] = ()
) -> BaselineResult:
    """Compare a capture with the selected captures of a store, except itself.

    ``also`` are more stores, or captures; with them the text may be ``:SELECTOR`` alone.
    """
    store, selector = (None, text[1:]) if also and text.startswith(":") else parse(text)
    fleet = load([*([store] if store else []), *also], progress)
    chosen = select(fleet.captures, selector) if selector else fleet.captures
    (capture_id,) = side.connection.execute("SELECT capture_id FROM capture").fetchone()
    chosen = [capture for capture in chosen if capture.capture_id != capture_id]
    if len(chosen) < CAPTURES_MIN:
        lost = "".join(f"; {each.name} is left out: {each.reason}" for each in fleet.left_out[:_SKIPPED_SHOWN])
        raise PerfcaseError(
            "usage", f"{text}: {len(chosen)} captures to compare with{lost}", f"{CAPTURES_MIN} are needed"
        )
    seen: defaultdict[str, list[tuple[Collected, Capture]]] = defaultdict(list)
    for number, capture in enumerate(chosen):
        progress(capture.name, number, len(chosen))
        try:
            with query.connect(capture.folder) as connection:
                fed = _fed(connection)
                for name, collected in collect_all(connection, [view for view in views if view.name in fed]).items():
                    seen[name].append((collected, capture))
        except (PerfcaseError, duckdb.Error) as error:
            fleet.left_out.append(SkippedCapture(capture.name, str(error).splitlines()[0]))
    fed = _fed(side.connection)
    base = Side(side.connection, "baseline", _SECOND_NS, side.cpu_count)
    known = collect_all(
        side.connection, [view for view in views if view.name in fed and len(seen[view.name]) >= CAPTURES_MIN]
    )
    found = {}
    lacking = []
    for view in views:
        enough = len(seen[view.name]) >= CAPTURES_MIN
        if not enough or view.name not in fed:
            lacking.append(
                NotCompared(view.name, "both" if not enough and view.name not in fed else "B" if enough else "A")
            )
            continue
        new = known[view.name]
        old = _medians(view, seen[view.name], new, side)
        certain = replace(
            new, rows={key: {m: replace(f, error=0.0) for m, f in row.items()} for key, row in new.rows.items()}
        )
        found[view.name] = differences(view, base, side, old, certain)
    return BaselineResult(
        chosen,
        fleet.left_out,
        ranked(found, recorder_names(side.connection), lacking, list(found), is_one_view=len(views) == 1),
    )


def _fed(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT view_name FROM view_coverage WHERE is_fed").fetchall()}


def _medians(view: View, seen: Iterable[tuple[Collected, Capture]], new: Collected, side: Side) -> Collected:
    """Return the baseline's figures, amounts per second, each with its error beside the figure of the capture that is compared."""
    kinds = {measure.name: measure.kind for measure in view.diff.measures}
    units = {column.name: column.unit for column in view.columns}
    sides = [(collected, _seconds(collected, capture.duration_ns)) for collected, capture in seen]
    now_s = _seconds(new, side.duration_ns)
    rows: dict[Key, dict[str, Figure]] = {}
    for key in dict.fromkeys(key for collected in (*(each for each, _ in sides), new) for key in collected.rows):
        for measure, kind in kinds.items():
            values = list(_values(sides, key, measure, kind))
            usual = baseline(values)
            if usual is None or 2 * len(values) <= len(sides):
                continue
            figure = new.rows.get(key, {}).get(measure)
            now = figure.value / (now_s if kind == "sum" else 1) if figure else 0.0
            # Where most are the same, nothing tells how much others would differ.
            error = SIGMA_OF_MAD * usual.mad or None
            if kind == "sum" and units[measure] == "count":
                error = max(error or 0.0, math.sqrt(max(now * now_s, usual.median * now_s, 1.0)) / now_s)
            if min(values) <= now <= max(values):
                error = max(error or 0.0, abs(now - usual.median))
            rows.setdefault(key, {})[measure] = Figure(usual.median, error)
    return Collected(rows, True, _SECOND_NS)


def _values(sides: Iterable[tuple[Collected, float]], key: Key, measure: str, kind: str) -> Iterable[float]:
    for collected, seconds in sides:
        figure = collected.rows.get(key, {}).get(measure)
        if figure:
            yield figure.value / (seconds if kind == "sum" else 1)
        elif kind in AMOUNTS and key not in collected.rows:
            yield 0.0


def _seconds(collected: Collected, duration_ns: int | None) -> float:
    return max(seconds_of(collected, duration_ns or _SECOND_NS), 1e-9)


def write(shown: str, usual: BaselineResult, text: str, fmt: str, output: Path | None, limit: int) -> None:
    """Print the unusual figures, the most significant first."""
    lines = usual.ranking.lines[:limit] if limit else usual.ranking.lines
    if fmt != "table":
        with page.as_table(lines) as connection:
            render.write_result(Result(connection, page.ROWS), fmt, output, limited=True)
        return
    with render.page(output) as console:
        for name, line in (("A", f"median of {plural(len(usual.captures), 'capture')} of {text}"), ("B", shown)):
            console.print(rich.text.Text.assemble((f"{name}  ", "bold"), safe(line)))
        console.print()
        if lines:
            names = ["", "view", "key", "measure", "usual", "B", "difference", "spread", "why"]
            console.print(render.table_of(names, [_line(number, each) for number, each in enumerate(lines, 1)]))
        else:
            console.print("nothing is out of the ordinary")
        more = len(usual.ranking.lines) - len(lines)
        notes = [f"{more:,} further lines; --limit 0 gives all"] if more else []
        notes += [f"{plural(len(usual.ranking.noise), 'figure')} within the spread of the baseline"]
        lacking = [each.view for each in usual.ranking.not_compared if each.lacks != "both"]
        notes += (
            [f"not compared, fewer than {CAPTURES_MIN} captures or B lack them: {', '.join(lacking)}"]
            if lacking
            else []
        )
        notes += [f"not in the baseline: {each.name}: {each.reason}" for each in usual.left_out]
        for note in notes:
            console.print(rich.text.Text(safe(note), style="dim"), soft_wrap=True)


def _line(number: int, each: Ranked) -> tuple[object, ...]:
    found = each.difference
    sides = ["-" if figure is None else value(found, figure) for figure in (found.a_per, found.b_per)]
    shown = ("+" if found.difference > 0 else "") + value(found, found.difference)
    spread = "-" if found.error is None else f"± {value(found, found.error)}"
    key = shorten(page.key_text(found), page.KEY_LENGTH)
    times = page.times(found.ratio) if found.ratio else "only in B" if found.b_per else "none in B"
    also = f"; also {', '.join(each.also[:3])}{' …' if len(each.also) > 3 else ''}" if each.also else ""
    return (number, found.view, key, found.measure.name, *sides, shown, spread, times + also)

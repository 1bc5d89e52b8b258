"""A diff as people read it, and as programs do."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcase import text
from perfcase.case.coverage import why_empty
from perfcase.case.query import Result
from perfcase.case.rows import table_of
from perfcase.diff import fired
from perfcase.diff.amounts import amount, value
from perfcase.diff.comparable import Condition, Setting, conditions, settings
from perfcase.diff.compare import Difference, Side
from perfcase.diff.fired import Change
from perfcase.diff.rank import NotCompared, Ranked, Ranking
from perfcase.diff.short import in_short
from perfcase.lazy import duckdb, rich
from perfcase.terminal import render
from perfcase.text import safe, shorten

if TYPE_CHECKING:
    from perfcase.diff.stack_page import StackComparison

LINES = 20
"""Differences that are shown by default."""
SETTINGS = 8
NOT_COMPARED = 5
KEY_LENGTH = 60

ROWS = "SELECT * FROM difference ORDER BY rank"
COLUMNS = {
    "rank": "INTEGER", "view": "VARCHAR", "key": "VARCHAR", "key_names": "VARCHAR[]", "key_values": "VARCHAR[]",
    "measure": "VARCHAR", "unit": "VARCHAR", "per": "VARCHAR", "state": "VARCHAR", "a": "DOUBLE", "b": "DOUBLE",
    "a_per": "DOUBLE", "b_per": "DOUBLE", "difference": "DOUBLE", "ratio": "DOUBLE", "noise_ratio": "DOUBLE",
    "sigmas": "DOUBLE", "is_noise": "BOOLEAN", "share_ratio": "DOUBLE", "score": "DOUBLE", "also": "VARCHAR[]",
    "why": "VARCHAR",
}  # fmt: skip
"""The columns of a line and their types."""
UNKNOWN = ("unit", "per", "a", "b", "a_per", "b_per", "ratio", "noise_ratio", "sigmas")
"""The columns of a line that may be NULL."""


@dataclass(frozen=True)
class Comparison:
    """The result of a diff. It stays valid when the connections of the sides are closed."""

    a: Side
    b: Side
    ranking: Ranking
    lines: Sequence[Ranked]
    """The lines to show, in order."""
    line_count: int
    """The number of all lines."""
    conditions: Sequence[Condition]
    settings: Sequence[Setting]
    missing: Sequence[str]
    """What was not compared and why, as sentences."""
    stacks: StackComparison | None = None
    findings: Sequence[Change] = ()
    in_short: Sequence[str] = ()
    """What threads of B wait for more or less than those of A, the most first, as sentences."""


def comparison(
    a: Side,
    b: Side,
    ranking: Ranking,
    limit: int,
    *,
    is_one_view: bool,
    stacks: StackComparison | None = None,
    findings: Sequence[Change] = (),
    with_missing: bool = True,
) -> Comparison:
    """Return the comparison of two sides with at most ``limit`` lines; 0: all. One view: with differences within the noise."""
    lines = [*ranking.lines, *ranking.noise] if is_one_view else ranking.lines
    missing = _missing(a, b, ranking.not_compared) if with_missing else []
    return Comparison(
        a, b, ranking, lines[:limit] if limit else lines, len(lines), conditions(a, b), settings(a, b), missing, stacks, findings,
        in_short(ranking),
    )  # fmt: skip


def write(found: Comparison, fmt: str, output: Path | None) -> None:
    """Write a diff."""
    if fmt == "table":
        _text(found, output)
        return
    if fmt == "json":
        render.write_text(json.dumps(record_of(found), ensure_ascii=False, indent=1, allow_nan=False) + "\n", output)
        return
    for each in (*_differing_conditions(found.conditions), *fired.sentences(found.findings), *found.missing):
        sys.stderr.write(f"perfcase: {safe(each)}\n")
    with as_table(found.lines) as connection:
        render.write_result(Result(connection, ROWS), fmt, output, limited=True)


def as_table(lines: Sequence[Ranked]) -> duckdb.DuckDBPyConnection:
    """Return a connection with the lines in the table ``difference``; ``ROWS`` selects them."""
    return table_of(
        "difference", COLUMNS, [list(record(number, each).values()) for number, each in enumerate(lines, 1)]
    )


def record(number: int, each: Ranked) -> dict[str, Any]:
    """Return a line as a program reads it."""
    difference = each.difference
    sigmas = each.sigmas if each.sigmas != float("inf") else None
    return {
        "rank": number, "view": difference.view, "key": key_text(difference), "key_names": list(difference.keys),
        "key_values": list(difference.key), "measure": difference.measure.name, "unit": difference.unit,
        "per": difference.per, "state": difference.state, "a": difference.a, "b": difference.b,
        "a_per": difference.a_per, "b_per": difference.b_per, "difference": difference.difference,
        "ratio": difference.ratio, "noise_ratio": difference.noise, "sigmas": sigmas, "is_noise": each.is_noise,
        "share_ratio": difference.share, "score": each.score, "also": list(each.also), "why": why(each),
    }  # fmt: skip


def key_text(difference: Difference) -> str:
    """Return a key in one line."""
    return ", ".join(
        f"{name} {'-' if value is None else value}" for name, value in zip(difference.keys, difference.key, strict=True)
    )


def why(each: Ranked) -> str:
    """Return why a line is ranked where it is."""
    difference = each.difference
    if difference.state != "changed":
        parts = [f"{'only in B' if difference.state == 'appeared' else 'only in A'}"]
    elif difference.ratio is None:
        parts = ["new in B" if not difference.a else "none left in B"]
    else:
        parts = [times(difference.ratio)]
    if difference.keys:
        parts.append(f"{text.ratio(difference.share)} of the whole")
    if each.sigmas is None:
        parts.append("noise not known")
    elif each.is_noise:
        parts.append("within the noise")
    elif each.sigmas == float("inf"):
        parts.append("steady on both sides")
    else:
        parts.append(f"{min(each.sigmas, 999):.3g} × the noise")
    if each.also:
        more = f" and {len(each.also) - 3} more" if len(each.also) > 3 else ""
        parts.append(f"also {', '.join(each.also[:3])}{more}")
    return "; ".join(parts)


def times(ratio: float) -> str:
    """Return a ratio for people: × 2.5, ÷ 40."""
    if ratio < 0:
        return "changed sign"
    return f"× {_times(ratio)}" if ratio >= 1 else f"÷ {_times(1 / ratio)}"


def _times(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def record_of(found: Comparison) -> dict[str, Any]:
    """Return a diff for programs, as values of JSON."""
    a, b = found.a, found.b
    return {
        "a": {"name": a.name, "duration_ns": a.duration_ns},
        "b": {"name": b.name, "duration_ns": b.duration_ns},
        "in_short": list(found.in_short),
        "findings": [asdict(each) for each in found.findings],
        "comparability": [asdict(each) for each in found.conditions],
        "per": {"event": a.per, "a": a.per_count, "b": b.per_count} if a.per else None,
        "settings": [asdict(each) for each in found.settings],
        "not_compared": [asdict(each) for each in found.ranking.not_compared],
        "stacks": asdict(found.stacks) if found.stacks else None,
        "noise_count": len(found.ranking.noise),
        "differences": [record(number, each) for number, each in enumerate(found.lines, 1)],
    }


def _text(found: Comparison, output: Path | None) -> None:
    a, b, stacks = found.a, found.b, found.stacks
    with render.page(output) as console:
        for name, side in (("A", a), ("B", b)):
            console.print(rich.text.Text.assemble((f"{name}  ", "bold"), safe(side.name)))
        _conditions(console, found.conditions)
        if a.per:
            line = f"  amounts are per {a.per}: {a.per_count:,.0f} in A, {b.per_count:,.0f} in B"
            console.print(rich.text.Text(safe(line)))
        # A finding names a cause; a wait may be its consequence.
        fired.write(console, list(found.findings))
        if found.in_short:
            console.print()
            console.print(rich.text.Text("In short", style="bold"))
        for each in found.in_short:
            console.print(rich.text.Text(f"  {safe(each)}"), soft_wrap=True)
        console.print()
        if stacks:
            console.print(rich.text.Text.assemble(("Stacks  ", "bold"), safe(stacks.sentence)))
            for each in stacks.moved:
                console.print(rich.text.Text(f"  {safe(each)}", style="dim"))
            console.print()
        if found.lines:
            console.print(rich.text.Text("What changed most", style="bold"))
            names = ["", "view", "key", "measure", "A", "B", "difference", "noise", "why"]
            console.print(render.table_of(names, [_line(number, each) for number, each in enumerate(found.lines, 1)]))
        else:
            console.print("no differences")
        more, noise = found.line_count - len(found.lines), len(found.ranking.noise)
        if more:
            console.print(rich.text.Text(f"{more:,} further lines; --limit 0 gives all", style="dim"))
        if noise:
            line = f"{text.plural(noise, 'difference')} within the noise; --view NAME lists those of a view"
            console.print(rich.text.Text(line, style="dim"))
        _settings(console, found.settings)
        if found.missing:
            console.print()
            console.print(rich.text.Text("Not compared", style="bold"))
        for each in found.missing:
            console.print(rich.text.Text(f"  {safe(each)}"))


def _conditions(console: Any, found: Sequence[Condition]) -> None:  # noqa: ANN401
    differing = [each for each in found if not each.is_same]
    console.print()
    console.print(rich.text.Text("Can they be compared?", style="bold"))
    if differing:
        rows = [(f"  {each.name}", each.a, each.b, each.means) for each in differing]
        console.print(render.table_of(["  differs", "A", "B", "what it means"], rows))
    alike = ", ".join(each.name for each in found if each.is_same)
    if alike:
        console.print(rich.text.Text(f"  alike: {alike}"))


def _settings(console: Any, found: Sequence[Setting]) -> None:  # noqa: ANN401
    if not found:
        return
    console.print()
    console.print(rich.text.Text("Settings that differ", style="bold"))
    rows = [(f"  {each.key}", shorten(each.a or "-", 60), shorten(each.b or "-", 60)) for each in found[:SETTINGS]]
    console.print(render.table_of(["  setting", "A", "B"], rows))
    if len(found) > SETTINGS:
        line = f"  {len(found) - SETTINGS} further settings; --format json has all"
        console.print(rich.text.Text(line, style="dim"))


def _line(number: int, each: Ranked) -> tuple[object, ...]:
    difference = each.difference
    noise = "?" if difference.noise is None else f"± {text.ratio(difference.noise)}"
    key = shorten(key_text(difference), KEY_LENGTH)
    sides = [
        amount(difference, a, per) for a, per in ((difference.a, difference.a_per), (difference.b, difference.b_per))
    ]
    signed = ("+" if difference.difference > 0 else "") + value(difference, difference.difference)
    return (number, difference.view, key, difference.measure.name, *sides, signed, noise, why(each))


def _differing_conditions(found: Iterable[Condition]) -> list[str]:
    return [f"{each.name} differs: {each.a} and {each.b}: {each.means}" for each in found if not each.is_same]


def _missing(a: Side, b: Side, lacking: Sequence[NotCompared]) -> list[str]:
    """Return what one side lacks, each reason once, and the views that neither has."""
    reasons: dict[tuple[str, str], list[str]] = {}
    lines = []
    for each in lacking:
        if each.why:
            lines.append(f"{each.view}: it cannot be worked out in {each.lacks}: {each.why}")
        elif each.lacks != "both":
            side = a if each.lacks == "A" else b
            reasons.setdefault((each.lacks, why_empty(side.connection, each.view) or "not recorded"), []).append(
                each.view
            )
    lines += [f"{', '.join(views)}: {side} has none: {reason}" for (side, reason), views in reasons.items()]
    neither = [each.view for each in lacking if each.lacks == "both" and not each.why]
    if neither:
        shown = ", ".join(neither[:NOT_COMPARED]) + (
            f" and {len(neither) - NOT_COMPARED} more" if len(neither) > NOT_COMPARED else ""
        )
        lines.append(f"neither side has {shown}")
    return lines

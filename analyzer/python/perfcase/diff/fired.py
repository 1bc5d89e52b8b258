"""The findings of both sides: which rules fired on one of them only, or more severely than on the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from perfcase.case.kept import have_findings
from perfcase.case.query import sql_errors
from perfcase.catalogue.rules import SEVERITIES
from perfcase.catalogue.views import load_views
from perfcase.diff.collect import asked
from perfcase.diff.compare import Side
from perfcase.diff.sides import on_both
from perfcase.lazy import rich
from perfcase.text import safe

SCORE_CHANGE_MIN = 0.1
"""From which on another score is a change: scores are shares of the workload's time or calls."""
GROWTH_MIN, GROWN_SCORE_MIN = 10.0, 0.01
"""So many times the score is a change, too, from so much of the workload's time or calls on."""
STATES = ("new in B", "changed", "gone in B", "in both")
"""The order of output."""

OF_RULE_MAX = 200
"""The findings of a rule that are looked at, the worst first."""

_ORDER = f"list_position({list(SEVERITIES)}, severity), score DESC, subject, message"
_FIRED = (
    "SELECT finding, title, severity, subject, message, score, count(*) OVER (PARTITION BY finding), follows_from FROM finding"
    f" QUALIFY row_number() OVER (PARTITION BY finding ORDER BY {_ORDER}) <= {OF_RULE_MAX} ORDER BY finding, {_ORDER}"
)
_ID = re.compile(r" \([0-9]+\)")
"""The id of a thread or process in a subject: another one in each capture."""


@dataclass(frozen=True)
class WorstFinding:
    """The most severe finding of a rule on one side, or the most severe of B about something of which the rule says nothing in A."""

    severity: str
    subject: str
    message: str
    score: float | None
    count: int
    """The number of findings of the rule."""
    follows_from: str | None = None
    """The rule whose finding is the cause of this one."""


@dataclass(frozen=True)
class Change:
    """A rule that fired."""

    finding: str
    title: str
    state: str
    a: WorstFinding | None
    b: WorstFinding | None
    is_judged: bool
    """Whether the side on which it did not fire could be judged: else it may hold there, too."""
    follows_from: str | None = None
    """The change in the same state that is its cause: this one stands behind it."""


FiredBySide = tuple[dict[str, tuple[str, Sequence[WorstFinding]]], set[str]]
"""By rule: its title and its findings, the worst first; and which rules were judged."""


def changes(a: Side, b: Side) -> list[Change]:
    """Return every rule that fired: what is new first, then what changed, then what is gone; the most severe first.

    What follows from another in the same state stands behind it.
    """
    (old, judged_a), (new, judged_b) = on_both(a, b, _fired)
    found = []
    for name in {**new, **old}:
        title = (old.get(name) or new[name])[0]
        before, after = (side[name][1] if name in side else () for side in (old, new))
        state, was, now = _compared(before, after)
        found.append(
            Change(
                name, title, state, was, now,
                (was is not None or name in judged_a) and (now is not None or name in judged_b),
            )
        )  # fmt: skip
    return _behind_their_causes(sorted(found, key=_order))


def _behind_their_causes(found: Sequence[Change]) -> list[Change]:
    """Put each change behind its cause, and a cause where the first that follows from it would stand."""
    by_name = {each.finding: each for each in found}
    due = {each.finding: cause for each in found if (cause := _shown(each).follows_from) in by_name}
    due = {name: cause for name, cause in due.items() if by_name[name].state == by_name[cause].state}
    causes = {name: _causes(due, name) for name in by_name}
    # What follows from itself, by way of others, would never be told.
    due = {name: cause for name, cause in due.items() if name not in causes[name]}
    roots = dict.fromkeys([name, *_causes(due, name)][-1] for name in by_name)

    def group(name: str) -> Iterator[Change]:
        yield replace(by_name[name], follows_from=due.get(name))
        for other in by_name:
            if due.get(other) == name:
                yield from group(other)

    return [each for root in roots for each in group(root)]


def _causes(due: Mapping[str, str], name: str) -> list[str]:
    """Return all that a finding follows from, the nearest first."""
    found: list[str] = []
    while (cause := due.get(name)) is not None and cause not in found:
        found.append(cause)
        name = cause
    return found


def _shown(each: Change) -> WorstFinding:
    shown = each.b or each.a
    assert shown is not None
    return shown


def _compared(
    before: Sequence[WorstFinding], after: Sequence[WorstFinding]
) -> tuple[str, WorstFinding | None, WorstFinding | None]:
    """Return the state of a rule, and the findings of both sides that show it."""
    if not before or not after:
        return ("gone in B", before[0], None) if before else ("new in B", None, after[0])
    was, now = before[0], after[0]
    scores = was.score or 0, now.score or 0
    has_grown = scores[1] >= max(GROWTH_MIN * scores[0], GROWN_SCORE_MIN)
    if was.severity != now.severity or abs(scores[0] - scores[1]) >= SCORE_CHANGE_MIN or has_grown:
        return "changed", was, now
    known = {_ID.sub("", each.subject) for each in before}
    others = [each for each in after if _ID.sub("", each.subject) not in known]
    # A note about something else, of which there may be many, is none that leads.
    other = next((each for each in others if each.severity != "note" or (each.score or 0) >= SCORE_CHANGE_MIN), None)
    return ("changed", was, other) if other else ("in both", was, now)


def _order(each: Change) -> tuple:
    worst = _shown(each)
    return STATES.index(each.state), SEVERITIES.index(worst.severity), -(worst.score or 0), each.finding


@sql_errors()
def _fired(side: Side) -> FiredBySide:
    # A diff asks for these, too.
    have_findings(side.connection, asked(view for view in load_views().values() if view.diff))
    rows = side.connection.execute(_FIRED).fetchall()
    judged = side.connection.execute("SELECT finding FROM finding_coverage WHERE is_judged").fetchall()
    by_rule: dict[str, tuple[str, list[WorstFinding]]] = {}
    for name, title, *one in rows:
        by_rule.setdefault(name, (title, []))[1].append(WorstFinding(*one))
    return dict(by_rule), {name for (name,) in judged}


def sentences(found: Iterable[Change]) -> Iterator[str]:
    """Yield a line for each change."""
    for each in found:
        if each.state == "in both":
            continue
        severity = " → ".join(dict.fromkeys(side.severity for side in (each.a, each.b) if side))
        unknown = "" if each.is_judged else f" (it could not be judged in {'A' if each.a is None else 'B'})"
        follows = "follows from it: " if each.follows_from else ""
        yield f"{each.state}: {severity}: {follows}{each.title}{unknown}"


def write(console: rich.console.Console, found: list[Change]) -> None:
    """Print the changes, with the figures of both sides."""
    if not found:
        return
    console.print()
    console.print(rich.text.Text("Findings", style="bold"))
    changed = [each for each in found if each.state != "in both"]
    for each, sentence in zip(changed, sentences(changed), strict=True):
        indent = "    " if each.follows_from else "  "
        style = "bold red" if each.state == "new in B" else "default"
        console.print(rich.text.Text(f"{indent}{safe(sentence)}", style=style))
        for name, side in (("A", each.a), ("B", each.b)):
            if side:
                more = f" (and {side.count - 1} more)" if side.count > 1 else ""
                console.print(rich.text.Text(f"{indent}  {name}  {safe(f'{side.subject}: {side.message}{more}')}"))
    alike = ", ".join(each.finding for each in found if each.state == "in both")
    if alike:
        console.print(rich.text.Text(f"  in both: {alike}"))

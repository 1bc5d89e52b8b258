"""What is wrong: the findings that fired, and which rules could not be judged."""

from __future__ import annotations

from itertools import groupby

from perfcase.case.kept import have_findings
from perfcase.report.page import Page
from perfcase.text import count, plural

VIEW = "finding"
TITLE = "Findings"

_SUBJECTS, _SUBJECTS_IN_FULL = 3, 50
_STYLES = {"critical": "bold red", "warning": "yellow", "note": "default"}


def write(page: Page, *, in_full: bool = False) -> None:
    have_findings(page.connection)
    fired = page.rows("SELECT * FROM finding")
    # A rule stands where its most severe row does.
    place = {row["finding"]: number for number, row in reversed(list(enumerate(fired)))}
    for _, of_rule in groupby(sorted(fired, key=lambda row: place[row["finding"]]), key=lambda row: row["finding"]):
        _finding(page, list(of_rule), in_full)
    _summary(page, len(place), in_full)


def _finding(page: Page, rows: list[dict], in_full: bool) -> None:
    first = rows[0]
    page.line(f"{first['severity']:<10}{first['title']}", _STYLES[first["severity"]])
    shown = rows[: _SUBJECTS_IN_FULL if in_full else _SUBJECTS]
    for row in shown:
        page.line(f"{'':<10}{row['subject']}: {row['message']}")
    if len(rows) > len(shown):
        page.line(f"{'':<10}and {count(len(rows) - len(shown))} more (view finding)")
    if in_full:
        page.line(f"{'':<10}Means: {first['means']}")
        page.line(f"{'':<10}Next: {first['next']}")
    page.query(first["evidence"])


def _summary(page: Page, fired: int, in_full: bool) -> None:
    """Print how many rules were judged, and why the others could not be."""
    rules = page.rows("SELECT * FROM finding_coverage ORDER BY finding")
    lacking: dict[str, list[str]] = {}
    for row in rules:
        if not row["is_judged"]:
            lacks = (row[name] for name in ("missing", "reason", "how", "remedy"))
            lacking.setdefault("; ".join(filter(None, lacks)), []).append(row["finding"])
    names = sorted(name for of_one in lacking.values() for name in of_one)
    told = f"{plural(len(rules) - len(names), 'rule')} judged, {count(fired)} fired"
    if in_full:
        page.line(told, "dim")
        for missing, of_one in sorted(lacking.items()):
            page.line(f"not judged: {', '.join(of_one)} ({missing})", "dim")
        return
    page.line(f"{told}; not judged: {', '.join(names)}" if names else told, "dim")
    page.command("findings")

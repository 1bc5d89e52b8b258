"""What is wrong: the findings that fired, and which rules could not be judged."""

from __future__ import annotations

from perfcase.report.document import Finding
from perfcase.report.page import Page, Row
from perfcase.text import count, plural, safe

VIEW = "finding"
TITLE = "Findings"

_SUBJECTS, _SUBJECTS_IN_FULL = 3, 50


def write(page: Page, *, in_full: bool = False) -> None:
    # A rule stands where its first row does; what follows from another finding stands behind that.
    rules: dict[tuple[str, str | None], list[Row]] = {}
    for row in page.select("finding"):
        rules.setdefault((row["finding"], row["follows_from"]), []).append(row)
    of_cause: dict[str | None, list[list[Row]]] = {}
    for (_, cause), rows in rules.items():
        of_cause.setdefault(cause, []).append(rows)
    for rows in of_cause.get(None, []):
        for fired in (rows, *of_cause.get(rows[0]["finding"], [])):
            page.put(_finding(fired, in_full))
    _summary(page, len({finding for finding, _ in rules}), in_full)


def _finding(rows: list[Row], in_full: bool) -> Finding:
    first = rows[0]
    shown = rows[: _SUBJECTS_IN_FULL if in_full else _SUBJECTS]
    return Finding(
        name=first["finding"],
        severity=first["severity"],
        title=first["title"],
        follows_from=first["follows_from"],
        subjects=[(safe(row["subject"]), safe(row["message"])) for row in shown],
        more_count=len(rows) - len(shown),
        advice=[("Means", first["means"]), ("Next", first["next"])] if in_full else [],
        evidence=first["evidence"],
    )


def _summary(page: Page, fired: int, in_full: bool) -> None:
    """Write how many rules were judged, and why the others could not be."""
    rules = page.select("finding_coverage", order="finding")
    names = [row["finding"] for row in rules if not row["is_judged"]]
    judged = [row["finding"] for row in rules if row["is_judged"]]
    counted = f"{plural(len(judged), 'rule')} judged, {count(fired)} fired"
    if not in_full:
        page.line(f"{counted}; not judged: {', '.join(names)}" if names else counted, "quiet")
        page.command("findings --explain")
        return
    page.line(counted, "quiet")
    lacking: dict[str, list[str]] = {}
    for row in rules:
        if not row["is_judged"]:
            lacks = (row[name] for name in ("missing", "reason", "how", "remedy"))
            lacking.setdefault("; ".join(filter(None, lacks)), []).append(row["finding"])
    for missing, of_one in sorted(lacking.items()):
        page.line(f"not judged: {', '.join(of_one)} ({missing})", "quiet")

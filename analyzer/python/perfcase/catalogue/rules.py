"""The findings: one ``schema/findings/<finding>.sql`` a rule, a header of comments and one SELECT.

    -- <finding>: the sentence that a reader sees as its title
    -- condition: when it fires, in words, with its thresholds and where they come from
    -- means: what it means for the user's service
    -- next: what to look at next, a command or a view; may be repeated
    -- about: what it is about, where a finding may follow from another that is about the same (optional)
    -- follows from: the rules whose findings it is a consequence of, if they fire for the same (optional, with ``about``)
    -- taught by: the published investigation that taught it, or -
    -- source: the tables and views that the SELECT reads
    -- evidence: one SELECT over the views that shows the rows behind it
    -- judged when: one SELECT of a boolean: whether the capture can answer, beyond having rows in the tables (optional)
    -- not judged: what is missing where that is false, and how to record it (with ``judged when``)
    SELECT severity, subject, message, cost_ns, of_run_ratio, failed_ratio, about FROM …

The SELECT has a row for each thing that the rule fired for. It has those of the last four that it can tell: the time of the
workload's threads that this cost, or the share of the time that they ran; the share of what failed; and (with ``about`` in the
header) a list of words that are equal where two findings are about the same. The views ``finding`` (what fired) and
``finding_coverage`` (what could be judged) are made of all rules: their files say ``@fired`` and ``@enough`` where the rules go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfcase.catalogue.kit import expand
from perfcase.catalogue.schema import literal, schema_dir
from perfcase.catalogue.view import View, header_entries, parse_view, split_header, split_names
from perfcase.errors import PerfcaseError

if TYPE_CHECKING:
    from typing import Any

SEVERITIES = ("critical", "warning", "note")
"""Most severe first."""

COLUMNS = {"severity": "VARCHAR", "subject": "VARCHAR", "message": "VARCHAR"}
"""What the SELECT of each rule gives, with the types."""

MORE_COLUMNS = {"cost_ns": "BIGINT", "of_run_ratio": "DOUBLE", "failed_ratio": "DOUBLE", "about": "VARCHAR[]"}
"""What it gives if it can."""

_ENTRIES = {
    "condition": "condition",
    "means": "means",
    "about": "about",
    "follows from": "follows_from",
    "taught by": "taught_by",
    "source": "source",
    "evidence": "evidence",
    "judged when": "judged_when",
    "not judged": "not_judged",
}
_NEEDED = ("condition", "means", "taught_by", "source", "evidence")


@dataclass(frozen=True)
class Rule:
    """A rule: its documentation and its SELECT."""

    name: str
    title: str
    condition: str
    means: str
    next: tuple[str, ...]
    taught_by: str
    sources: tuple[str, ...]
    evidence: str
    judged_when: str | None
    not_judged: str | None
    about: str | None
    follows_from: tuple[str, ...]
    sql: str
    path: Path

    def view(self) -> View:
        """Return the rule as a view, for what works on views."""
        return View(
            self.name,
            "findings",
            self.title,
            "a thing that the rule fired for",
            self.sources,
            (),
            (),
            self.sql,
            self.path,
        )


@cache
def load_rules(folder: Path | None = None) -> dict[str, Rule]:
    """Return every rule by name."""
    return {path.stem: parse_rule(path) for path in sorted(((folder or schema_dir()) / "findings").glob("*.sql"))}


def parse_rule(path: Path) -> Rule:
    """Read one rule file."""
    header, body = split_header(path.read_text(encoding="utf-8"))
    entries = header_entries(header, path)
    if not entries or entries[0][0] != path.stem:
        raise PerfcaseError("internal", f"{path}: the header must begin with '-- {path.stem}: its title'")
    found: dict[str, str] = {}
    following = []
    for key, text in entries[1:]:
        if key == "next":
            following.append(text)
        elif key in _ENTRIES and _ENTRIES[key] not in found:
            found[_ENTRIES[key]] = text
        else:
            raise PerfcaseError("internal", f"{path}: the header has an unknown or repeated entry '{key}'")
    missing = [name for name in _NEEDED if not found.get(name)] + ([] if following else ["next"])
    if "follows_from" in found and "about" not in found:
        missing.append("about")
    if missing or ("judged_when" in found) != ("not_judged" in found):
        raise PerfcaseError("internal", f"{path}: the header lacks {', '.join(missing) or 'judged when or not judged'}")
    return Rule(
        name=path.stem,
        title=entries[0][1],
        condition=found["condition"],
        means=found["means"],
        next=tuple(following),
        taught_by=found["taught_by"],
        sources=split_names(found["source"]),
        evidence=found["evidence"],
        judged_when=found.get("judged_when"),
        not_judged=found.get("not_judged"),
        about=found.get("about"),
        follows_from=split_names(found.get("follows_from", "")),
        sql=expand(body.strip().rstrip(";").strip(), str(path)),
        path=path,
    )


def with_rules(views: Mapping[str, View], rules: Mapping[str, Rule]) -> dict[str, View]:
    """Return the views, those that are made of the rules completed."""
    made_of_rules = re.compile("^@(fired|enough)$", re.MULTILINE)
    return {name: _completed(view, rules) if made_of_rules.search(view.sql) else view for name, view in views.items()}


def fired(rule: Rule) -> str:
    """Return the SELECT of a rule, with its name. A message in which a figure is unknown is one of these words."""
    message = "coalesce(message, 'its figures are not known') AS message"
    return f"SELECT {literal(rule.name)} AS finding, * REPLACE ({message}) FROM (\n{rule.sql}\n)"


def fired_columns() -> str:
    """Return the columns that the SELECTs of all rules have together, as CREATE TABLE has them."""
    return ", ".join(f"{name} {kind}" for name, kind in ({"finding": "VARCHAR"} | COLUMNS | MORE_COLUMNS).items())


def enough(rule: Rule) -> str:
    """Return the SELECT of whether a capture has enough for a rule, with its name. A rule that fails here has no reason yet."""
    is_enough = f"({rule.judged_when})" if rule.judged_when else "true"
    return f"SELECT {literal(rule.name)} AS finding, {is_enough} AS is_enough, NULL::VARCHAR AS failure"


def judged(relation: str) -> str:
    """Return the SELECT of the view ``finding_coverage`` over a relation that has the rows of ``enough``."""
    return parse_view(schema_dir() / "views" / "about" / "finding_coverage.sql").sql.replace(
        "@enough", f"FROM {relation}"
    )


def sorted_findings(relation: str) -> str:
    """Return the SELECT of the view ``finding`` over a relation that has the rows of ``fired``."""
    return parse_view(schema_dir() / "views" / "about" / "finding.sql").sql.replace("@fired", f"FROM {relation}")


_NOTHING = "SELECT {} WHERE false".format(
    ", ".join(f"NULL::{kind} AS {name}" for name, kind in ({"finding": "VARCHAR"} | COLUMNS | MORE_COLUMNS).items())
)
"""It has all columns."""


def _completed(view: View, rules: Mapping[str, Rule]) -> View:
    parts = {
        "@fired": [_NOTHING, *(fired(rule) for rule in rules.values())],
        "@enough": [enough(rule) for rule in rules.values()],
    }
    sql, sources = view.sql, set(view.sources)
    if "@fired" in sql:
        sources.update(name for rule in rules.values() for name in rule.sources)
    for marker, selects in parts.items():
        sql = sql.replace(marker, "\nUNION ALL BY NAME\n".join(selects))
    return replace(view, sql=sql, sources=tuple(sorted(sources)))


def rule_rows() -> list[dict[str, Any]]:
    """Return the rules as rows of the catalogue's table ``finding_rule``."""
    return [
        {
            "finding": rule.name,
            "title": rule.title,
            "condition": rule.condition,
            "means": rule.means,
            "next": "; ".join(rule.next),
            "taught_by": None if rule.taught_by == "-" else rule.taught_by,
            "evidence": rule.evidence,
            "not_judged": rule.not_judged,
            "follows_from": ", ".join(rule.follows_from) or None,
        }
        for rule in load_rules().values()
    ]

"""Writes docs/tables, docs/views and docs/findings from schema/: ``python -m perfcase.catalogue.docs docs``. A test says when they are stale.

A file in schema/ has a page of the same place and name: who adds one adds a page, and touches no line of another's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from perfcase.catalogue import privacy
from perfcase.catalogue.rules import Rule, load_rules
from perfcase.catalogue.schema import Table, load_catalogue, load_tables
from perfcase.catalogue.view import View, parse_view
from perfcase.catalogue.views import load_views

_GENERATED = "<!-- Made by `make docs` from schema/: do not edit. -->"

_TABLES_INTRO = """\
# Tables

What an import makes: one Parquet file a table, `tables/<table>.parquet`. Every table of this list is there, even if empty.
Every other tracepoint that a capture holds has a table of its own name (`<system>_<event>` where two systems have an event of
the same name), with `ts_ns`, `cpu`, `utid`, `tid`, `stack_id` and the tracepoint's own fields as typed columns.

Units come last in a column's name. `ts_ns` is nanoseconds since the capture's start, on its one clock. `utid` and `upid` are the
capture's own keys of threads and processes; `tid` and `pid` are only labels, for the kernel uses them again. Unknown is NULL.

A page for each table, by group; [catalogue](tables/catalogue) has the tables of `case.duckdb` itself, about views and not about
the capture, for `metric_definition` and `view_coverage`. `perfcase tables` lists them all.
"""

_VIEWS_INTRO = """\
# Views

Every answer of perfcase is a SQL view over the [tables](tables.md): `perfcase view NAME FILE`, or
`perfcase sql FILE "SELECT … FROM NAME"`, or the stock `duckdb` on an imported folder's `case.duckdb`.

A view whose source is not in the capture has no rows; [view_coverage](views/about/view_coverage.md) says which table and source is
missing and how to record it, [data_quality](views/about/data_quality.md) what each source is worth.
[metric_definition](views/about/metric_definition.md) is all of this as rows, with the formula of each column.

A page for each view, by group. `perfcase views` lists them all.
"""


_FINDINGS_INTRO = """\
# Findings

The rules that `perfcase findings FILE` and the head of `perfcase report FILE` judge a capture by, one `schema/findings/<finding>.sql`
each. What fired is in the view `finding`, these descriptions are in the table `finding_rule`, and `finding_coverage` says which rules
could not be judged, and what would have to be recorded. A rule that did not fire found nothing, on this capture.

Every rule gives a severity (`critical`, `warning`, `note`), what it is about, a sentence with the figures, and a score: what it cost.
The scale is the same for all: the share of the workload's time (`workload_time`: what its threads ran, waited for a CPU, and waited
otherwise while they had work), or of the calls, requests or segments of which some failed. It is NULL where nothing tells it, or where
the loss is to come. The score orders the findings of one severity and bounds it: below a hundredth nothing is critical, because no user
felt it, and below a thousandth everything is a note. So what is true of the host and does not touch the workload comes last.

A finding that follows from another one, such as answers that wait for a disk that is slow, stands behind it; `follows_from` names the
cause.

[A page for each rule](findings); `perfcase findings --rules` lists them all.
"""


def pages() -> dict[str, str]:
    """Return every page: its path below docs/, and its text."""
    views = load_views().values()
    tables = load_tables().values()
    found = {
        "tables.md": _TABLES_INTRO + _groups("tables", (table.group for table in tables)),
        "views.md": _VIEWS_INTRO + _groups("views", (view.group for view in views)),
        "findings.md": _FINDINGS_INTRO,
        "privacy.md": privacy.page(),
    }
    found |= {f"tables/{table.group}/{table.name}.md": _table(table) for table in tables}
    found |= {f"tables/catalogue/{table.name}.md": _table(table) for table in load_catalogue().values()}
    found |= {f"views/{view.group}/{view.name}.md": _view(view) for view in views}
    found |= {f"findings/{rule.name}.md": _rule(rule) for rule in load_rules().values()}
    return {path: f"{_GENERATED}\n{text}" for path, text in found.items()}


def _groups(folder: str, groups: Iterable[str]) -> str:
    return "\n" + "".join(f"- [{group}]({folder}/{group})\n" for group in sorted(set(groups)))


def _rule(rule: Rule) -> str:
    lines = [
        f"# {rule.name}\n",
        f"**{_cell(rule.title)}**\n",
        f"Fires when: {_cell(rule.condition)}.\n",
        f"Means: {_cell(rule.means)}.\n",
        "Next:\n",
        *(f"- {_cell(step)}" for step in rule.next),
        "",
    ]
    if rule.not_judged:
        lines.append(f"Not judged without {_cell(rule.not_judged)}.\n")
    if rule.follows_from:
        causes = ", ".join(f"[{name}]({name}.md)" for name in rule.follows_from)
        lines.append(f"Follows, if it is about the same ({_cell(rule.about or '')}), from: {causes}.\n")
    if rule.taught_by != "-":
        lines.append(f"Taught by: {_cell(rule.taught_by)}.\n")
    return "\n".join([*lines, f"```sql\n{rule.evidence}\n```", ""])


def _table(table: Table) -> str:
    rows = [
        f"| `{c.name}` | {_cell(c.type or '')} | {c.unit or ''} | {'yes' if c.nullable else ''} | {_cell(c.description)} |"
        for c in table.columns
    ]
    head = ["| column | type | unit | NULL | what it is |", "|---|---|---|---|---|"]
    order = f" In the order of {', '.join(f'`{name}`' for name in table.order)}." if table.order else ""
    grain = table.grain.removeprefix("one row is ").rstrip(".")
    return "\n".join([f"# {table.name}\n", f"{table.description} One row is {grain}.{order}\n", *head, *rows, ""])


def _view(view: View) -> str:
    rows = [f"| `{c.name}` | {c.unit or ''} | {_cell(c.description)} |" for c in view.columns]
    own = parse_view(view.path).sources
    sources = ", ".join(f"`{name}`" for name in own)
    # What the rules read would make this one line change with every rule.
    sources += " and what each [rule](../../findings.md) reads" if set(view.sources) - set(own) else ""
    lines = [
        f"# {view.name}\n",
        f"{_sentence(view.description)} One row is {view.grain.rstrip('.')}. Made from {sources}.\n",
    ]
    lines += [f"- {_sentence(caveat)}" for caveat in view.caveats]
    lines += [f"- {_compared(view)}", ""]
    return "\n".join([*lines, "| column | unit | what it is |", "|---|---|---|", *rows, ""])


def _compared(view: View) -> str:
    """Return how perfcase diff compares two captures in it."""
    if view.diff is None:
        return f"Not compared by `perfcase diff`: {view.not_compared}."
    keys = ", ".join(f"`{key}`" for key in view.diff.keys) or "nothing: it is one figure each"
    kinds = {"sum": "amounts", "level": "levels", "mean": "averages", "max": "maxima", "median": "medians"}
    parts = []
    for kind, label in kinds.items():
        names = ", ".join(
            f"`{each.name}`{f' (weighted by {each.by})' if each.by else ''}{' (per CPU)' if each.per_cpu else ''}"
            for each in view.diff.measures
            if each.kind == kind
        )
        parts += [f"{label} {names}"] if names else []
    where = f", of rows where `{view.diff.where}`" if view.diff.where else ""
    return f"Compared by `perfcase diff` by {keys}{where}: {'; '.join(parts)}."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def main(folder: str) -> None:
    """Write the pages into ``folder``, and remove those of what is not there any more."""
    made = {Path(folder) / path: text for path, text in pages().items()}
    for page in {*Path(folder).rglob("*.md")} - made.keys():
        if page.read_text(encoding="utf-8").startswith(_GENERATED):
            page.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])

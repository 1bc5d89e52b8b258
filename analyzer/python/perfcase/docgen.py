"""Writes docs/tables.md, docs/views.md and docs/findings.md from schema/: ``python -m perfcase.docgen docs``. A test says when they are stale."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from perfcase.findings import Rule, load_rules
from perfcase.schema import Table, load_catalogue, load_tables
from perfcase.views import View, load_views

_GENERATED = "<!-- Made by `make docs` from schema/: do not edit. -->"

_TABLES_INTRO = """\
# Tables

What an import makes: one Parquet file a table, `tables/<table>.parquet`. Every table of this list is there, even if empty.
Every other tracepoint that a capture holds has a table of its own name (`<system>_<event>` where two systems have an event of
the same name), with `ts_ns`, `cpu`, `utid`, `tid`, `stack_id` and the tracepoint's own fields as typed columns.

Units come last in a column's name. `ts_ns` is nanoseconds since the capture's start, on its one clock. `utid` and `upid` are the
capture's own keys of threads and processes; `tid` and `pid` are only labels, for the kernel uses them again. Unknown is NULL.
"""

_CATALOGUE_INTRO = """\
## catalogue

Tables of `case.duckdb` itself, about views and not about the capture, for `metric_definition` and `view_coverage`.
"""

_VIEWS_INTRO = """\
# Views

Every answer of perfcase is a SQL view over the [tables](tables.md): `perfcase view NAME FILE`, or
`perfcase sql FILE "SELECT … FROM NAME"`, or the stock `duckdb` on an imported folder's `case.duckdb`.

A view whose source is not in the capture has no rows; [view_coverage](#view_coverage) says which table and source is missing
and how to record it, [data_quality](#data_quality) what each source is worth. [metric_definition](#metric_definition) is this
page as rows, with the formula of each column.
"""


_FINDINGS_INTRO = """\
# Findings

The rules that `perfcase findings FILE` and the head of `perfcase report FILE` judge a capture by, one `schema/findings/<finding>.sql`
each. What fired is in the view `finding`, these descriptions are in the table `finding_rule`, and `finding_coverage` says which rules
could not be judged, and what would have to be recorded. A rule that did not fire found nothing, on this capture.

Every rule gives a severity (`critical`, `warning`, `note`), what it is about, a sentence with the figures, and a score: the share of
the time or capacity that is lost, from 0 to 1, which orders the findings of one severity.
"""


def tables_page() -> str:
    """docs/tables.md."""
    parts = [_GENERATED, _TABLES_INTRO]
    for group, tables in _by_group(load_tables().values()):
        parts.append(f"## {group}\n")
        parts += [_table(table) for table in tables]
    parts.append(_CATALOGUE_INTRO)
    parts += [_table(table) for table in load_catalogue().values()]
    return "\n".join(parts)


def views_page() -> str:
    """docs/views.md."""
    parts = [_GENERATED, _VIEWS_INTRO]
    for group, views in _by_group(load_views().values()):
        parts.append(f"## {group}\n")
        parts += [_view(view) for view in views]
    return "\n".join(parts)


def findings_page() -> str:
    """docs/findings.md."""
    return "\n".join([_GENERATED, _FINDINGS_INTRO, *map(_rule, load_rules().values())])


def _rule(rule: Rule) -> str:
    lines = [
        f"## {rule.name}\n",
        f"**{_cell(rule.title)}**\n",
        f"Fires when: {_cell(rule.condition)}.\n",
        f"Means: {_cell(rule.means)}.\n",
        "Next:\n",
        *(f"- {_cell(step)}" for step in rule.next),
        "",
    ]
    if rule.not_judged:
        lines.append(f"Not judged without {_cell(rule.not_judged)}.\n")
    if rule.taught_by != "-":
        lines.append(f"Taught by: {_cell(rule.taught_by)}.\n")
    return "\n".join([*lines, f"```sql\n{rule.evidence}\n```\n"])


PAGES = {"tables.md": tables_page, "views.md": views_page, "findings.md": findings_page}


def _by_group(entries: Iterable[Table | View]) -> list[tuple[str, list]]:
    groups: dict[str, list] = {}
    for entry in sorted(entries, key=lambda entry: (entry.group, entry.name)):
        groups.setdefault(entry.group, []).append(entry)
    return list(groups.items())


def _table(table: Table) -> str:
    rows = [
        f"| `{c.name}` | {_cell(c.type or '')} | {c.unit or ''} | {'yes' if c.nullable else ''} | {_cell(c.description)} |"
        for c in table.columns
    ]
    head = ["| column | type | unit | NULL | what it is |", "|---|---|---|---|---|"]
    order = f" In the order of {', '.join(f'`{name}`' for name in table.order)}." if table.order else ""
    grain = table.grain.removeprefix("one row is ").rstrip(".")
    return "\n".join([f"### {table.name}\n", f"{table.description} One row is {grain}.{order}\n", *head, *rows, ""])


def _view(view: View) -> str:
    rows = [f"| `{c.name}` | {c.unit or ''} | {_cell(c.description)} |" for c in view.columns]
    sources = ", ".join(f"`{name}`" for name in view.sources)
    lines = [
        f"### {view.name}\n",
        f"{_sentence(view.description)} One row is {view.grain.rstrip('.')}. Made from {sources}.\n",
    ]
    lines += [f"- {_sentence(caveat)}" for caveat in view.caveats]
    lines += [f"- {_compared(view)}", ""]
    return "\n".join([*lines, "| column | unit | what it is |", "|---|---|---|", *rows, ""])


def _compared(view: View) -> str:
    """How perfcase diff compares two captures in it."""
    if view.diff is None:
        return f"Not compared by `perfcase diff`: {view.not_compared}."
    keys = ", ".join(f"`{key}`" for key in view.diff.keys) or "nothing: it is one figure each"
    kinds = {"sum": "amounts", "level": "levels", "mean": "averages", "max": "maxima", "median": "medians"}
    parts = []
    for kind, told in kinds.items():
        names = ", ".join(
            f"`{each.name}`{f' (weighted by {each.by})' if each.by else ''}{' (per CPU)' if each.per_cpu else ''}"
            for each in view.diff.measures
            if each.kind == kind
        )
        parts += [f"{told} {names}"] if names else []
    where = f", of rows where `{view.diff.where}`" if view.diff.where else ""
    return f"Compared by `perfcase diff` by {keys}{where}: {'; '.join(parts)}."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def main(folder: str) -> None:
    """Writes the pages into ``folder``."""
    for name, page in PAGES.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])

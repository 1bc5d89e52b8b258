"""Print lists of views and tables by group, and one entry with its columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from perfcase.catalogue.schema import Column, Table
from perfcase.catalogue.view import View
from perfcase.errors import unknown
from perfcase.terminal.render import console, table_of


def write(what: str, entries: Mapping[str, Table | View], name: str | None, *, as_json: bool) -> None:
    """Print all entries, or the one with this name."""
    if name is not None and name not in entries:
        raise unknown(what, name, entries, f"perfcase {what}s")
    chosen = [entries[name]] if name else list(entries.values())
    if as_json:
        sys.stdout.write(json.dumps(records(chosen), indent=1, ensure_ascii=False) + "\n")
    elif name:
        print_entry(console(), entries[name])
    else:
        print_groups(console(), chosen)


def print_groups(console: Console, entries: Iterable[Table | View]) -> None:
    """Print the name and the first sentence of each entry, by group."""
    groups: dict[str, list[Table | View]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    for group in sorted(groups):
        console.print(Text(group, style="bold"))
        width = max(len(entry.name) for entry in groups[group])
        for entry in sorted(groups[group], key=lambda entry: entry.name):
            first = entry.description.partition(". ")[0].rstrip(".")
            console.print(Text(f"  {entry.name:<{width}}  {first}", overflow="ellipsis", no_wrap=True))
        console.print()


def print_entry(console: Console, entry: Table | View) -> None:
    """Print a table or view in full."""
    console.print(Text(entry.name, style="bold"))
    console.print(Text(entry.description))
    console.print(Text(f"One row is {entry.grain.removeprefix('one row is ')}.", style="dim"))
    if isinstance(entry, View):
        for caveat in entry.caveats:
            console.print(Text(f"Caveat: {caveat}", style="yellow"))
        if entry.sources:
            console.print(Text(f"Made from: {', '.join(entry.sources)}", style="dim"))
    console.print()
    console.print(_columns(entry.columns, typed=isinstance(entry, Table)))


def _columns(columns: Iterable[Column], *, typed: bool) -> object:
    if typed:
        rows = [(c.name, c.sql_type, c.unit or "", "yes" if c.nullable else "", c.description) for c in columns]
        return table_of(["column", "type", "unit", "NULL", "what it is"], rows)
    return table_of(["column", "unit", "what it is"], [(c.name, c.unit or "", c.description) for c in columns])


def records(entries: Iterable[Table | View]) -> list[dict]:
    """Return the entries as plain data for JSON."""
    return [
        {
            "name": entry.name,
            "group": entry.group,
            "description": entry.description,
            "grain": entry.grain,
            "columns": [
                {"name": c.name, "type": c.type and c.sql_type, "unit": c.unit, "description": c.description}
                for c in entry.columns
            ],
        }
        for entry in entries
    ]

"""perfcase tables: what there is to ask."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from perfcase.cli.common import unknown
from perfcase.cli.listing import print_entry, print_groups, records
from perfcase.render import console
from perfcase.schema import load_tables


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A table, to see its columns.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the tables that every import has; with NAME, say what its columns mean, with types and units.

    Every other tracepoint in a capture has a table of its own name, with its fields as columns: perfcase import lists them.

    Example: perfcase tables thread_state
    """
    tables = load_tables()
    if name is not None and name not in tables:
        raise unknown("table", name, tables, "perfcase tables")
    chosen = [tables[name]] if name else list(tables.values())
    if as_json:
        sys.stdout.write(json.dumps(records(chosen), indent=1, ensure_ascii=False) + "\n")
    elif name:
        print_entry(console(), tables[name])
    else:
        print_groups(console(), chosen)

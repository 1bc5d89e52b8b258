"""perfcase tables: what there is to ask."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcase.catalogue.schema import load_tables
from perfcase.cli.listing import write


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
    write("table", load_tables(), name, as_json=as_json)

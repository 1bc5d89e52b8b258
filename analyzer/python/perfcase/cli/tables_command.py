"""perfcase tables: list the tables."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcase.catalogue.schema import load_tables
from perfcase.cli.listing import write


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show the columns of this table.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the tables that every import has. With NAME, describe its columns, with types and units.

    Each other tracepoint of a capture has a table with its name, and with its fields as columns. perfcase import lists them.

    Example: perfcase tables thread_state
    """
    write("table", load_tables(), name, as_json=as_json)

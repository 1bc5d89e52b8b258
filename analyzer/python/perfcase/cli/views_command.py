"""perfcase views: list the views."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfcase.catalogue.views import load_views
from perfcase.cli.listing import write


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show the columns of this view.", show_default=False)
    ] = None,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SELECT of the view.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the views. With NAME, describe its columns, with their units and caveats.

    Example: perfcase views thread_time
    """
    views = load_views()
    if sql and name in views and not as_json:
        sys.stdout.write(views[name].sql + "\n")
    else:
        write("view", views, name, as_json=as_json)

"""perfcase views: what there is to ask."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from perfcase.cli.common import unknown
from perfcase.cli.listing import print_entry, print_groups, records
from perfcase.render import console
from perfcase.views import load_views


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A view, to see its columns.", show_default=False)
    ] = None,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SELECT that makes the view.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the views; with NAME, say what its columns mean, their units, and what to beware of.

    Example: perfcase views thread_time
    """
    views = load_views()
    if name is not None and name not in views:
        raise unknown("view", name, views, "perfcase views")
    chosen = [views[name]] if name else list(views.values())
    if as_json:
        sys.stdout.write(json.dumps(records(chosen), indent=1, ensure_ascii=False) + "\n")
    elif sql and name:
        sys.stdout.write(views[name].sql + "\n")
    elif name:
        print_entry(console(), views[name])
    else:
        print_groups(console(), chosen)

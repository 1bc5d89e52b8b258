"""perfcase fleet: ask many captures on a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from perfcase.cli.common import OutputOption, capture_progress, folder_or_url
from perfcase.cli.options import from_request
from perfcase.errors import PerfcaseError
from perfcase.operations import fleet


@from_request
def command(
    action: Annotated[
        fleet.Action,
        typer.Argument(metavar="ACTION", help="view, sql, findings, history or import.", show_default=False),
    ],
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[WHAT] STORE...",
            help="view: the name of a view, sql: a SELECT. Then folders with captures, at any depth, or URLs: s3://bucket/incidents/.",
            show_default=False,
        ),
    ],
    request: fleet.Request,
    output: OutputOption = None,
) -> None:
    """Ask each capture of STORE on a cluster of Apache Spark, all of them in one job.

    The rows are those of perfcase view, sql and findings for each capture, with the name of the capture before them. What is not imported
    yet is imported by the workers of the cluster first. Spark reads the imported folders as they are. It comes with
    pip install 'perfcase[spark]', and needs Java. Without a cluster perfcase history answers for many captures faster.

    Example: perfcase fleet view thread_time incidents/ --master spark://head:7077 --where "comm = 'java'"
    """
    what, stores = "", words
    if action in fleet.NEEDS_WHAT:
        what, *stores = words
        if not stores:
            raise PerfcaseError(
                "usage", f"fleet {action} needs {fleet.NEEDS_WHAT[action]}, then STORE", "perfcase fleet --help"
            )
    with capture_progress() as progress:
        found = fleet.run(replace(request, action=action, what=what), list(map(folder_or_url, stores)), progress)
    found.write(output)

"""perfcase summary: write one page for the ticket."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, opened, unless_standard_output
from perfcase.cli.options import from_request
from perfcase.operations import summary


@from_request
def command(
    file: FileArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file to write: ticket.html or ticket.md; - is standard output."
        ),
    ],
    request: summary.Request,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Write one page for the ticket: findings, the tables of the report, flame graphs, what is missing.

    The HTML page is one file below 1 MB. It loads nothing, so it opens from a mail. Markdown is for GitHub, GitLab, Roundup.

    Example: perfcase summary incident.perfcase -o ticket.html
    """
    request = request.named(output)
    with opened(file, debug_dir, only) as case:
        summary.run(request, case).write(unless_standard_output(output))

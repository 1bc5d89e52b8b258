"""perfcase summary: one page for the ticket."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import DebugDirOption, FileArgument, opened, writing
from perfcase.errors import PerfcaseError
from perfcase.summary import write_html, write_markdown

_WRITERS = {".html": write_html, ".htm": write_html, ".md": write_markdown, ".markdown": write_markdown}


def command(
    file: FileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write: ticket.html or ticket.md.")
    ],
    debug_dir: DebugDirOption = None,
) -> None:
    """Write one page for the ticket: findings, the report's tables, flame graphs, what is missing, how far to trust it.

    The HTML page is one file below 1 MB that loads nothing and opens from a mail. Markdown is for GitHub, GitLab, Roundup.

    Example: perfcase summary incident.perfcase -o ticket.html
    """
    write = _WRITERS.get(output.suffix.lower())
    if write is None:
        raise PerfcaseError("usage", f"{output}: a summary is .html or .md", "name such a file with -o")
    with opened(file, debug_dir) as connection:
        text = write(connection, file.name)
    with writing(output) as partial:
        partial.write_text(text, encoding="utf-8", errors="replace")

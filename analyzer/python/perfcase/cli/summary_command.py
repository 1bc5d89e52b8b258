"""perfcase summary: write one page for the ticket."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, named, opened, writing
from perfcase.errors import PerfcaseError
from perfcase.summary import write_html, write_markdown


class Form(StrEnum):
    """The format of a summary."""

    html = "html"
    md = "md"


_FORMS = {".html": Form.html, ".htm": Form.html, ".md": Form.md, ".markdown": Form.md}
_WRITERS = {Form.html: write_html, Form.md: write_markdown}


def command(
    file: FileArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file to write: ticket.html or ticket.md; - is standard output."
        ),
    ],
    to: Annotated[
        Form | None, typer.Option("--to", help="The format: html or md (Markdown). Default: by the suffix of the file.")
    ] = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Write one page for the ticket: findings, the tables of the report, flame graphs, what is missing.

    The HTML page is one file below 1 MB. It loads nothing, so it opens from a mail. Markdown is for GitHub, GitLab, Roundup.

    Example: perfcase summary incident.perfcase -o ticket.html
    """
    form = to or _FORMS.get(output.suffix.lower())
    if form is None:
        raise PerfcaseError("usage", f"{output}: a summary is .html or .md", "name such a file with -o, or give --to")
    with opened(file, debug_dir, only) as connection:
        text = _WRITERS[form](connection, named(Path(file.name), only))
    if str(output) == "-":
        sys.stdout.buffer.write(text.encode(errors="replace"))
        return
    with writing(output) as partial:
        partial.write_text(text, encoding="utf-8", errors="replace")

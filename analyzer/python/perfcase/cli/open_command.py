"""perfcase open: look at captures in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import SourceOption, local_file, transfer_progress
from perfcase.cli.serve_command import server_part
from perfcase.errors import PerfcaseError
from perfcase.stacks.source_text import SourceText


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Captures: .perfcase, perf.data or trace.dat, or their URLs.", parser=local_file
        ),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="The port to listen on; 0 chooses a free one.")
    ] = 0,
    source: SourceOption = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.", show_default=False)
    ] = False,
) -> None:
    """Look at a capture in a browser: the page of perfcase serve, for these files alone. Two files are compared.

    The page is on loopback, and its address has a secret: no token is needed, and other users of this machine cannot guess it. All data is
    in a temporary folder (TMPDIR), which is deleted when Ctrl-C ends the command.

    \b
    Example: perfcase open incident.perfcase --source ~/src/server
             perfcase open monday.perfcase friday.perfcase
    """
    for file in files:
        if not file.exists():
            raise PerfcaseError("not_found", f"{file}: no such file")
        if not file.is_file():
            raise PerfcaseError("usage", f"{file}: a folder or a pipe", "name the file that was recorded")
    folders = SourceText(source or ()).folders
    with transfer_progress() as progress:
        server_part("open")(files, port=port, is_shown=not no_browser, progress=progress, source=folders)

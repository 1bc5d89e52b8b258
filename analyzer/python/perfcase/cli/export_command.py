"""perfcase export: write a capture in the formats of other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    OnlyOption,
    import_progress,
    opened,
    unless_standard_output,
)
from perfcase.cli.options import from_request
from perfcase.errors import PerfcaseError
from perfcase.operations import export


@from_request
def command(
    file: FileArgument,
    request: export.Request,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The file to write; default: standard output. For csv and parquet a folder, or - for a tar on standard output.",
        ),
    ] = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Write a capture in the format of another tool. Standard error says what that format cannot hold.

    The weights of samples are nanoseconds for clocks, and counts for other events.

    Example: perfcase export incident.perfcase --to perfetto -o incident.perfetto-trace
    """
    _check(request.to, output)
    with opened(file, debug_dir, only) as case, import_progress(file.name) as progress:
        export.run(request, case, progress).write(unless_standard_output(output))


def _check(to: str, output: Path | None) -> None:
    """Check that an export can be written there."""
    is_tty, is_tar = sys.stdout.isatty(), str(output) == "-"
    if to in export.TABLES and is_tar and is_tty:
        raise PerfcaseError("usage", "a tar archive is binary", "name a folder with -o")
    if to in export.TABLES and output is None:
        raise PerfcaseError("usage", f"--to {to} writes many files", "name a folder with -o, or - for a tar")
    if export.media(to) == "binary" and (output is None or is_tar) and is_tty:
        raise PerfcaseError("usage", f"{to} is binary", "name a file with -o")

"""perfcase flamegraph: draw where time goes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, opened, unless_standard_output
from perfcase.cli.options import from_request
from perfcase.operations import flamegraph


@from_request
def command(
    file: FileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")
    ],
    request: flamegraph.Request,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Draw a flame graph: one SVG file that opens in any browser, with zoom, search and keys.

    The arrow keys move from frame to frame. Enter or a click zooms, Escape shows all, / searches.

    Example: perfcase flamegraph incident.perfcase --where "comm = 'java'" -o java.svg
    """
    with opened(file, debug_dir, only) as case:
        flamegraph.run(request, case).write(unless_standard_output(output))

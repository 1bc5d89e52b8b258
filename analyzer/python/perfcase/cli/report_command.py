"""perfcase report: print the first five minutes of an investigation."""

from __future__ import annotations

from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, OutputOption, opened
from perfcase.cli.options import from_request
from perfcase.operations import report


@from_request
def command(
    file: FileArgument,
    request: report.Request,
    output: OutputOption = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Print the first five minutes of an investigation: the host, load, threads, waits, calls, counters, profile.

    Every block names the view behind it. Ask for this view to see more.

    Example: perfcase report incident.perfcase
    """
    with opened(file, debug_dir, only) as case:
        report.run(request, case).write(output)

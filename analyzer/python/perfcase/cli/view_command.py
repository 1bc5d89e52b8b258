"""perfcase view: print one view."""

from __future__ import annotations

from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, OutputOption, ReadsOption, opened, say_reads
from perfcase.cli.options import from_request
from perfcase.operations import view


@from_request
def command(
    request: view.Request,
    file: FileArgument,
    output: OutputOption = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
    reads: ReadsOption = False,
) -> None:
    """Print a view of FILE: thread_time, off_cpu_by_stack, syscall_summary, …

    perfcase views lists the views. perfcase views NAME describes the columns. If a view is empty, standard error says what is
    missing in the capture and how to record it.

    Example: perfcase view off_cpu_by_stack incident.perfcase --where "comm = 'java'" --limit 10
    """
    with opened(file, debug_dir, only, is_counted=reads) as case:
        result = view.run(request, case)
        result.write(output)
        if reads:
            say_reads([(case, result.bytes_read)])

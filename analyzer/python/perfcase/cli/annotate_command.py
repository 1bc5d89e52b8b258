"""perfcase annotate: samples of a function by instruction and source line."""

from __future__ import annotations

from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, OutputOption, SourceOption, opened
from perfcase.cli.options import from_request
from perfcase.operations import annotate
from perfcase.stacks.source_text import SourceText


@from_request
def command(
    request: annotate.Request,
    file: FileArgument,
    output: OutputOption = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
    source: SourceOption = None,
) -> None:
    """Count the samples of FUNCTION in FILE by instruction, with source lines, as perf annotate does.

    A sample counts at its own instruction: what the function calls does not count. Instructions need the object's code: record
    with --symbols full, or give the objects with --debug-dir. Without it, rows are the sampled addresses, and standard error says
    what is missing. Source lines need debug information, and --source for their text. An inlined function has no instructions of its own: ask for the function
    that it was inlined into, and read the column inlined.

    Example: perfcase annotate same_type server.perfcase --only process=server --debug-dir / --source ~/src/server
    """
    text = SourceText(source) if source else None
    with opened(file, debug_dir, only) as case:
        annotate.run(request, case, text).write(output)

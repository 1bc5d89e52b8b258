"""perfcase diff: compare two captures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    OnlyOption,
    OutputOption,
    capture_progress,
    folder_or_url,
    local_file,
    opened,
    unless_standard_output,
)
from perfcase.cli.options import from_request
from perfcase.errors import PerfcaseError
from perfcase.operations import diff, diff_flamegraph, fields
from perfcase.operations.request import encode


@from_request
def command(
    a: FileArgument,
    request: diff.Request,
    shaping: fields.OfStacks,
    b: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OTHER]",
            help="The capture to compare with. Not needed with --a and --b.",
            show_default=False,
            parser=local_file,
        ),
    ] = None,
    flamegraph: Annotated[
        Path | None,
        typer.Option(
            "--flamegraph",
            metavar="FILE",
            help="Write the flame graph of OTHER, coloured by the difference; - is standard output. --format json writes the tree of both.",
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            metavar="STORE",
            help="With --baseline: use the captures of this folder too. --baseline :SELECTOR then selects from all folders.",
        ),
    ] = None,
    only: OnlyOption = None,
    output: OutputOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Compare two captures, or two windows of one.

    The output says first whether the two can be compared, then what changed most, and what one side did not record.

    Each figure is divided by seconds, CPUs or --per EVENT, so that the two sides are comparable. The absolute values are
    shown too. Differences within the noise of the captures are counted but not listed; --view NAME lists them. The exit code
    is 0 if the two could be compared.

    Stacks are matched by function and object. If the stacks have the same shape and the counters differ, the output says so:
    the cause is then in the hardware and not in the code.

    \b
    Example: perfcase diff good.perfcase bad.perfcase
             perfcase diff good.perfcase bad.perfcase --only process=java
             perfcase diff incident.perfcase --a 0s..10s --b 20s..30s --view thread_time
             perfcase diff good.perfcase bad.perfcase --flamegraph waits.svg --off-cpu
             perfcase diff good.perfcase bad.perfcase --flamegraph calls.svg --exclude schedule --invert
             perfcase diff good.perfcase bad.perfcase --callers malloc
             perfcase diff bad.perfcase --baseline incidents/:host=web-*
    """
    request.check(
        has_other=b is not None, is_part=bool(only), has_stores=bool(also), is_pictured=flamegraph is not None
    )
    if flamegraph is None and shaping != fields.OfStacks():
        named = next(name for name, value in encode(shaping).items() if value)
        raise PerfcaseError("usage", f"--{named.replace('_', '-')} needs --flamegraph")
    first = opened(a, debug_dir, only)
    second = opened(b, debug_dir, only) if b is not None else None
    if flamegraph is not None:
        picture = diff_flamegraph.Request(
            a_window=request.a_window, b_window=request.b_window, per=request.per, event=request.event,
            off_cpu=request.off_cpu, wakers=request.wakers, fmt="json" if request.fmt == "json" else "svg",
            **encode(shaping),
        )  # fmt: skip
        diff_flamegraph.run(picture, first, second).write(unless_standard_output(flamegraph))
    if flamegraph is None or request.callers:
        with capture_progress() as progress:
            found = diff.run(request, first, second, list(map(folder_or_url, also or ())), progress)
        found.write(output)

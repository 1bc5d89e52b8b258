"""perfcase diff: what changed."""

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
    opened,
    unless_standard_output,
)
from perfcase.cli.options import from_request
from perfcase.operations import diff, diff_flamegraph


@from_request
def command(
    a: FileArgument,
    request: diff.Request,
    b: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OTHER]", help="What it is compared with; not needed with --a and --b.", show_default=False
        ),
    ] = None,
    flamegraph: Annotated[
        Path | None,
        typer.Option(
            "--flamegraph",
            metavar="FILE",
            help="Write OTHER's flame graph, coloured by the difference (- for standard output); with --format json the tree of both.",
        ),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            "--also",
            metavar="STORE",
            help="With --baseline: captures there, too; :SELECTOR alone then means all of them.",
        ),
    ] = None,
    only: OnlyOption = None,
    output: OutputOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Say what differs between two captures, or between two parts of one: first whether they can be compared, then what
    changed most.

    Every figure is divided by what makes the two comparable (seconds, CPUs, --per EVENT); both absolute values stand beside
    it. What is no more than the noise between the intervals of the captures is counted, not listed; --view NAME lists that,
    too. Missing sources are said. The exit code is 0 whenever the two could be compared, whatever was found.

    Stacks are matched by function and object. The same shape with other counters is said: then the cause is in the hardware
    and not in the code.

    \b
    Example: perfcase diff good.perfcase bad.perfcase
             perfcase diff good.perfcase bad.perfcase --only process=java
             perfcase diff incident.perfcase --a 0s..10s --b 20s..30s --view thread_time
             perfcase diff good.perfcase bad.perfcase --flamegraph waits.svg --off-cpu
             perfcase diff good.perfcase bad.perfcase --callers malloc
             perfcase diff bad.perfcase --baseline incidents/:host=web-*
    """
    request.check(
        has_other=b is not None, is_part=bool(only), has_stores=bool(also), is_pictured=flamegraph is not None
    )
    first = opened(a, debug_dir, only)
    second = opened(b, debug_dir, only) if b is not None else None
    if flamegraph is not None:
        picture = diff_flamegraph.Request(
            a_window=request.a_window, b_window=request.b_window, per=request.per, event=request.event,
            off_cpu=request.off_cpu, wakers=request.wakers, fmt="json" if request.fmt == "json" else "svg",
        )  # fmt: skip
        diff_flamegraph.run(picture, first, second).write(unless_standard_output(flamegraph))
    if flamegraph is None or request.callers:
        with capture_progress() as progress:
            found = diff.run(request, first, second, also or (), progress)
        found.write(output)

"""perfcase flamegraph: where time goes, as a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, event_option, opened, where_option, writing
from perfcase.errors import PerfcaseError
from perfcase.flamegraph import FlameGraph
from perfcase.stacks import choose_event, off_cpu_stacks, sample_stacks


def command(
    file: FileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The SVG to write; - for standard output.")
    ],
    event: event_option("The event whose samples count; a clock unless told.") = None,
    off_cpu: Annotated[
        bool, typer.Option("--off-cpu", help="Where threads left their CPUs, by the time that they stayed away.")
    ] = False,
    where: where_option("Which samples or waits: comm, tid, pid, cpu, ts_ns; state, duration_ns of waits.") = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Draw a flame graph: one SVG that opens in any browser, with zoom, search and keys, and needs nothing else.

    Arrows go from frame to frame, Enter or a click zooms, Escape shows all, / searches.

    Example: perfcase flamegraph incident.perfcase --where "comm = 'java'" -o java.svg
    """
    if off_cpu and event:
        raise PerfcaseError("usage", "--off-cpu counts time off the CPU, --event samples", "give one of them")
    with opened(file, debug_dir, only) as connection:
        if off_cpu:
            what, unit, stacks = "time off the CPU", "ns", off_cpu_stacks(connection, where)
        else:
            what, unit = choose_event(connection, event)
            stacks = sample_stacks(connection, what, where)
        title = f"{file.name}: {what}" + "".join(f", {part}" for part in (*(only or ()), where) if part)
        picture = FlameGraph(stacks, title=title, unit=unit).svg()
        if str(output) == "-":
            sys.stdout.write(picture)
            return
        with writing(output) as partial:
            partial.write_text(picture, encoding="utf-8")

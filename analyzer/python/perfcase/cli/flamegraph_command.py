"""perfcase flamegraph: draw where time goes."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    OffCpuOption,
    OnlyOption,
    WakersOption,
    check_off_cpu,
    event_option,
    opened,
    where_option,
    writing,
)
from perfcase.stacks.fetching import (
    OFF_CPU_TITLE,
    OFF_WAKE_TITLE,
    chosen_event,
    event_counts,
    off_cpu_stacks,
    off_wake_stacks,
    sample_stacks,
)
from perfcase.stacks.flamegraph import FlameGraph
from perfcase.stacks.tree import tree
from perfcase.text import safe

Form = StrEnum("Form", ["svg", "json"])


def command(
    file: FileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")
    ],
    event: event_option("Use the samples of this event. Default: a clock.") = None,
    off_cpu: OffCpuOption = False,
    wakers: WakersOption = False,
    where: where_option(
        "Use only these samples or waits: a condition on comm, tid, pid, cpu, ts_ns; for waits also state, duration_ns."
    ) = None,
    fmt: Annotated[
        Form, typer.Option("--format", "-f", help="svg, or json: the tree as lists, for programs.")
    ] = Form.svg,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Draw a flame graph: one SVG file that opens in any browser, with zoom, search and keys.

    The arrow keys move from frame to frame. Enter or a click zooms, Escape shows all, / searches.

    Example: perfcase flamegraph incident.perfcase --where "comm = 'java'" -o java.svg
    """
    check_off_cpu(off_cpu, wakers, event)
    with opened(file, debug_dir, only) as connection:
        events: list[tuple[str, str, int]] = []
        if off_cpu:
            stacks = off_wake_stacks(connection, where) if wakers else off_cpu_stacks(connection, where)
            what, unit = OFF_WAKE_TITLE if wakers else OFF_CPU_TITLE, "ns"
        else:
            events = event_counts(connection, is_whole=not only)
            what, unit = chosen_event({name: unit for name, unit, _ in events}, event)
            stacks = sample_stacks(connection, what, where)
        title = f"{file.name}: {what}" + "".join(f", {part}" for part in (*(only or ()), where) if part)
        if fmt == Form.svg:
            picture = FlameGraph(stacks, title=title, unit=unit).svg()
        else:
            listed = [dict(zip(("event", "unit", "sample_count"), each, strict=True)) for each in events]
            document = {"title": safe(title), "what": what, "unit": unit, "events": listed, **tree(stacks)}
            picture = json.dumps(document, separators=(",", ":")) + "\n"
        if str(output) == "-":
            sys.stdout.write(picture)
            return
        with writing(output) as partial:
            partial.write_text(picture, encoding="utf-8")

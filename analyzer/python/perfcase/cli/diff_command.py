"""perfcase diff: what changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    Format,
    FormatOption,
    OutputOption,
    complete_view,
    open_file,
    unknown,
)
from perfcase.diff import page
from perfcase.diff.rank import rank
from perfcase.diff.sides import event_count, opened_sides, parse_part
from perfcase.errors import PerfcaseError
from perfcase.views import load_views


def command(
    a: FileArgument,
    b: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OTHER]", help="What it is compared with; not needed with --a and --b.", show_default=False
        ),
    ] = None,
    in_a: Annotated[
        str | None, typer.Option("--a", metavar="FROM..TO", help="Only this part of FILE: 0s..10s, 90s.., ..500ms.")
    ] = None,
    in_b: Annotated[
        str | None, typer.Option("--b", metavar="FROM..TO", help="Only this part of OTHER, or of FILE without one.")
    ] = None,
    view: Annotated[
        str | None,
        typer.Option("--view", metavar="NAME", help="Only this view, all of it.", autocompletion=complete_view),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option("--per", metavar="EVENT", help="Divide amounts by how often this happened, not by seconds."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, metavar="N", help="At most N lines; 0: all.")
    ] = page.LINES,
    fmt: FormatOption = Format.table,
    output: OutputOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Say what differs between two captures, or between two parts of one: first whether they can be compared, then what
    changed most.

    Every figure is divided by what makes the two comparable (seconds, CPUs, --per EVENT); both absolute values stand beside
    it. What is no more than the noise between the intervals of the captures is counted, not listed; --view NAME lists that,
    too. Missing sources are said. The exit code is 0 whenever the two could be compared, whatever was found.

    Example: perfcase diff good.perfcase bad.perfcase
    Example: perfcase diff incident.perfcase --a 0s..10s --b 20s..30s --view thread_time
    """
    if b is None and (in_a is None or in_b is None):
        raise PerfcaseError("usage", "one capture and nothing to compare it with", "another FILE, or --a and --b")
    views = load_views()
    if view is not None and (view not in views or views[view].diff is None):
        if view in views:
            raise PerfcaseError("usage", f"{view} is not compared: {views[view].not_compared}")
        raise unknown("view", view, [name for name in views if views[name].diff], "perfcase views")
    first = open_file(a, debug_dir)
    second = open_file(b, debug_dir) if b is not None else first
    with opened_sides(first, second, in_a and parse_part(in_a), in_b and parse_part(in_b)) as sides:
        old, new = (replace(side, per_count=event_count(side, per) if per else None) for side in sides)
        ranking = rank(old, new, per, None if view is None else [view])
        page.write(old, new, ranking, fmt.value, output, limit, is_one_view=view is not None)

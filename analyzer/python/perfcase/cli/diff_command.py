"""perfcase diff: compare two captures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfcase.case.scope import parse_part
from perfcase.catalogue.views import load_views
from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    Format,
    FormatOption,
    OffCpuOption,
    OnlyOption,
    OutputOption,
    WakersOption,
    capture_progress,
    check_off_cpu,
    complete_view,
    event_option,
    open_file,
    unknown,
    writing,
)
from perfcase.diff import page, stack_page
from perfcase.diff.fired import changes
from perfcase.diff.rank import rank
from perfcase.diff.sides import count_per, opened_sides
from perfcase.diff.stacks import profiles
from perfcase.errors import PerfcaseError
from perfcase.history import usual


def command(
    a: FileArgument,
    b: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OTHER]", help="The capture to compare with. Not needed with --a and --b.", show_default=False
        ),
    ] = None,
    in_a: Annotated[
        str | None,
        typer.Option("--a", metavar="FROM..TO", help="Use only this window of FILE: 0s..10s, 90s.., ..500ms."),
    ] = None,
    in_b: Annotated[
        str | None,
        typer.Option("--b", metavar="FROM..TO", help="Use only this window of OTHER, or of FILE if there is no OTHER."),
    ] = None,
    view: Annotated[
        str | None,
        typer.Option(
            "--view", metavar="NAME", help="Compare only this view, and print all of it.", autocompletion=complete_view
        ),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(
            "--per",
            metavar="EVENT",
            help="Divide amounts by the number of these events on each side, instead of seconds: a tracepoint, counter, system call or sampled event.",
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
    callers: Annotated[
        str | None,
        typer.Option(
            "--callers",
            metavar="FUNCTION",
            help="Show the callers of this function on both sides, the largest change first.",
        ),
    ] = None,
    event: event_option("With --flamegraph and --callers: use the samples of this event. Default: a clock.") = None,
    off_cpu: OffCpuOption = False,
    wakers: WakersOption = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="STORE[:SELECTOR]",
            help="Compare FILE with the median of the captures below a folder. SELECTOR: host=…,ticket=…,label=…,before=…,after=….",
        ),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            "--also",
            metavar="STORE",
            help="With --baseline: use the captures of this folder too. --baseline :SELECTOR then selects from all folders.",
        ),
    ] = None,
    only: OnlyOption = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, metavar="N", help="Print at most N lines; 0 prints all.")
    ] = page.LINES,
    fmt: FormatOption = Format.table,
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
             perfcase diff good.perfcase bad.perfcase --callers malloc
             perfcase diff bad.perfcase --baseline incidents/:host=web-*
    """
    if (event or off_cpu) and not (flamegraph or callers):
        raise PerfcaseError("usage", f"--{'event' if event else 'off-cpu'} needs --flamegraph or --callers")
    check_off_cpu(off_cpu, wakers, event)
    if also and baseline is None:
        raise PerfcaseError("usage", "--also needs --baseline")
    if baseline is not None and any((b, in_b, per, flamegraph, callers, only)):
        raise PerfcaseError(
            "usage", "--baseline replaces the other capture", "use it with FILE, --a, --view, --limit and --format"
        )
    if baseline is None and b is None and (in_a is None or in_b is None):
        raise PerfcaseError("usage", "there is nothing to compare with", "name another FILE, or give --a and --b")
    views = load_views()
    if view is not None and (view not in views or views[view].diff is None):
        if view in views:
            raise PerfcaseError("usage", f"{view} is not compared: {views[view].not_compared}")
        raise unknown("view", view, [name for name in views if views[name].diff], "perfcase views")
    first = open_file(a, debug_dir)
    if baseline is not None:
        part = in_a and parse_part(in_a)
        with opened_sides(first, first, part, part) as (side, _), capture_progress() as progress:
            wanted = [views[name] for name in views if views[name].diff and view in (None, name)]
            found = usual.compare_with_baseline(side, baseline, wanted, progress, also or ())
            usual.write(side, found, baseline, fmt.value, output, limit)
        return
    second = open_file(b, debug_dir) if b is not None else first
    with opened_sides(first, second, in_a and parse_part(in_a), in_b and parse_part(in_b), only or ()) as sides:
        old, new = count_per(*sides, per) if per else sides
        if flamegraph or callers:
            stacks = profiles(old.connection, new.connection, event, off_cpu=off_cpu, wakers=wakers)
        if flamegraph:
            picture = stack_page.flamegraph(old, new, *stacks, as_json=fmt == Format.json)
            if str(flamegraph) == "-":
                sys.stdout.write(picture)
            else:
                with writing(flamegraph) as partial:
                    partial.write_text(picture, encoding="utf-8")
        if callers:
            stack_page.write_callers(old, new, *stacks, callers, fmt.value, output, limit)
        if flamegraph or callers:
            return
        ranking = rank(old, new, None if view is None else [view])
        said = stack_page.compare_stacks(old, new) if view is None else None
        findings = changes(old, new) if view is None else None
        page.write(
            old, new, ranking, fmt.value, output, limit, is_one_view=view is not None, stacks=said, findings=findings
        )

"""perfcase diff: what changed."""

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
        typer.Option(
            "--per",
            metavar="EVENT",
            help="Divide amounts by how often this happened on each side, not by seconds: a tracepoint, counter, system call or sampled event.",
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
    callers: Annotated[
        str | None,
        typer.Option("--callers", metavar="FUNCTION", help="Who calls it in each, and what of that changed most."),
    ] = None,
    event: event_option("For --flamegraph and --callers: whose samples count. Default: a clock.") = None,
    off_cpu: OffCpuOption = False,
    wakers: WakersOption = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="STORE[:SELECTOR]",
            help="Compare FILE with the median of the captures below a folder, all or host=…,ticket=…,label=…,before=…,after=….",
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
    if (event or off_cpu) and not (flamegraph or callers):
        raise PerfcaseError("usage", f"--{'event' if event else 'off-cpu'} is of --flamegraph and --callers")
    check_off_cpu(off_cpu, wakers, event)
    if also and baseline is None:
        raise PerfcaseError("usage", "--also is of --baseline")
    if baseline is not None and any((b, in_b, per, flamegraph, callers, only)):
        raise PerfcaseError(
            "usage", "--baseline stands for the other capture", "FILE, --a, --view, --limit and --format go with it"
        )
    if baseline is None and b is None and (in_a is None or in_b is None):
        raise PerfcaseError("usage", "one capture and nothing to compare it with", "another FILE, or --a and --b")
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

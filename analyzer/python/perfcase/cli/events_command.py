"""perfcase events: print events as text."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfcase.case import events
from perfcase.cli.common import FileArgument
from perfcase.text import safe, safe_lines


def command(
    file: FileArgument,
    event: Annotated[
        str | None,
        typer.Option(
            "--event", "-e", metavar="NAME", help="Print only this event: sched_switch or sched:sched_switch."
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, metavar="N", help="Print at most N events; 0 prints all.")
    ] = 0,
) -> None:
    """Print events as text, as trace-cmd report and perf script do.

    libtraceevent (LGPL, loaded at run time) prints them in a child process. Damaged input can crash that process, but not
    perfcase.

    Example: perfcase events incident.perfcase --event sched_switch --limit 20
    """

    def problem(offset: int | None, message: str) -> None:
        place = f"byte {offset}: " if offset is not None else ""
        sys.stderr.write(f"perfcase: {place}{safe(message)}\n")

    def text(lines: str) -> None:
        sys.stdout.write(safe_lines(lines))

    events.print_events(file, text, problem, event=event, limit=limit or None)

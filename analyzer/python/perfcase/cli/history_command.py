"""perfcase history: follow one figure over many captures."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcase.cli.common import OutputOption, capture_progress, folder_or_url
from perfcase.cli.options import from_request
from perfcase.operations import history


@from_request
def command(
    stores: Annotated[
        list[str],
        typer.Argument(
            metavar="STORE...",
            help="Folders with captures, at any depth: archives, imports, recorders' folders, perf.data, trace.dat. "
            "Or URLs: s3://bucket/incidents/.",
            show_default=False,
        ),
    ],
    request: history.Request,
    output: OutputOption = None,
) -> None:
    """Follow one figure over many captures, ordered by time. Without --view, list the captures.

    A capture that cannot be read is listed with the reason; the others are still read. Amounts are divided by the seconds of
    the recording.

    Example: perfcase history incidents/ --view pmcarch -m ipc --baseline before=2026-01-05 --by host
    """
    with capture_progress() as progress:
        found = history.run(request, list(map(folder_or_url, stores)), progress)
    found.write(output)

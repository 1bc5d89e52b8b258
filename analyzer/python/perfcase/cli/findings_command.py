"""perfcase findings: what is wrong, by rules."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from perfcase.catalogue.rules import SEVERITIES
from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, OutputOption, opened
from perfcase.cli.options import from_request
from perfcase.errors import FOUND
from perfcase.operations import findings

Severity = StrEnum("Severity", {name: name for name in SEVERITIES})


@from_request
def command(
    file: FileArgument,
    request: findings.Request,
    fail_on: Annotated[
        Severity | None,
        typer.Option(
            "--fail-on", help=f"Exit with {FOUND} if a finding fired that is at least that severe.", show_default=False
        ),
    ] = None,
    output: OutputOption = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> int:
    """Say what is wrong: every rule that fired, most severe first, with its figures, and what could not be judged.

    The rules are documented in docs/findings.md and in the table finding_rule: condition, meaning, what to look at next.
    --format csv, json, arrow, parquet write the view finding, and say on standard error what was not judged.
    Exits with 0 whether something fired or not, unless --fail-on is given.

    Example: perfcase findings incident.perfcase --fail-on critical
    """
    with opened(file, debug_dir, only) as case:
        found = findings.run(request, case)
        found.write(output)
        return FOUND if fail_on is not None and found.has_fired(fail_on) else 0

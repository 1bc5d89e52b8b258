"""perfcase findings: say what is wrong, by rules."""

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
            "--fail-on", help=f"Exit with {FOUND} if there is a finding of at least this severity.", show_default=False
        ),
    ] = None,
    output: OutputOption = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> int:
    """Say what is wrong: print every rule that fired, what cost the workload most first, with its figures.

    What follows from another finding stands behind it.

    The output also says which rules could not be judged; --explain adds why, what each finding means, what to look at next, and
    the query behind its figures. docs/findings.md and the table finding_rule document the rules: the
    condition, the meaning, what to look at next. --format csv, json, arrow and parquet write the view finding; standard
    error then says what was not judged. The exit code is 0 even if there are findings; --fail-on changes that. A rule that
    takes more memory or disk than there is ends the command with an error, after the others.

    Example: perfcase findings incident.perfcase --fail-on critical
    """
    with opened(file, debug_dir, only) as case:
        found = findings.run(request, case)
        found.write(output)
        if found.failures:
            raise found.failures[0]
        return FOUND if fail_on is not None and found.has_fired(fail_on) else 0

"""perfcase findings: say what is wrong, by rules."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from perfcase.case.kept import have_findings
from perfcase.catalogue.rules import SEVERITIES
from perfcase.catalogue.schema import literal
from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    Format,
    FormatOption,
    LimitOption,
    OnlyOption,
    OutputOption,
    named,
    opened,
    write,
)
from perfcase.errors import FOUND
from perfcase.report import findings
from perfcase.report.page import Page
from perfcase.terminal.render import console
from perfcase.text import safe

Severity = StrEnum("Severity", {name: name for name in SEVERITIES})


def command(
    file: FileArgument,
    rules: Annotated[
        bool, typer.Option("--rules", help="List every rule: whether it could be judged, or why not.")
    ] = False,
    fail_on: Annotated[
        Severity | None,
        typer.Option(
            "--fail-on", help=f"Exit with {FOUND} if there is a finding of at least this severity.", show_default=False
        ),
    ] = None,
    limit: LimitOption = None,
    fmt: FormatOption = Format.table,
    output: OutputOption = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> int:
    """Say what is wrong: print every rule that fired, the most severe first, with its figures.

    The output also says which rules could not be judged. docs/findings.md and the table finding_rule document the rules: the
    condition, the meaning, what to look at next. --format csv, json, arrow and parquet write the view finding; standard
    error then says what was not judged. The exit code is 0 even if there are findings; --fail-on changes that.

    Example: perfcase findings incident.perfcase --fail-on critical
    """
    with opened(file, debug_dir, only) as connection:
        have_findings(connection)
        if rules:
            write(connection, "SELECT * FROM finding_coverage", fmt, output, limit)
        elif fmt == Format.table and output is None and limit is None:
            findings.write(Page(connection, console(), named(file, only)), in_full=True)
        else:
            write(connection, "SELECT * FROM finding", fmt, output, limit)
            missing = connection.execute("SELECT finding, missing FROM finding_coverage WHERE NOT is_judged").fetchall()
            for name, why in missing:
                sys.stderr.write(f"perfcase: {name} was not judged: {safe(why)}\n")
        if fail_on is None:
            return 0
        severe = ", ".join(literal(name) for name in SEVERITIES[: SEVERITIES.index(fail_on) + 1])
        found = connection.execute(f"SELECT 1 FROM finding WHERE severity IN ({severe}) LIMIT 1").fetchone()
        return FOUND if found else 0

"""Say what is wrong with a host: the rules that fired, and those that could not be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from perfcase.case.kept import have_findings
from perfcase.case.opening import Opened
from perfcase.catalogue.rules import SEVERITIES
from perfcase.catalogue.schema import literal
from perfcase.errors import PerfcaseError
from perfcase.operations import fields
from perfcase.operations.request import BaseRequest, Option
from perfcase.operations.result import Rows, say, select


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """Either the findings, or the rules themselves."""

    rules: Annotated[bool, Option("List every rule: whether it could be judged, or why not.", flags=("--rules",))] = (
        False
    )
    explain: Annotated[
        bool,
        Option(
            "Say what each finding means, what to look at next, and what the other rules lack.", flags=("--explain",)
        ),
    ] = False
    limit: fields.Limit = None
    fmt: fields.Format = "table"


class Result(Rows):
    """The rows of the view finding, what cost most first; with ``rules`` the rows of finding_coverage."""

    def __init__(self, request: Request, case: Opened, failures: Sequence[PerfcaseError]) -> None:
        view = "finding_coverage" if request.rules else "finding"
        super().__init__(select(case.connection, f"SELECT * FROM {view}", request.limit), request.fmt, request.limit)
        self._request = request
        self._case = case
        self.failures = failures
        """Why rules could not be worked out. They are not judged."""

    def write(self, output: Path | None = None) -> None:
        """Write the rows, and on standard error which rules could not be judged. A table without a limit is a page for people instead."""
        request, connection = self._request, self._case.connection
        if not request.rules and request.fmt == "table" and output is None and request.limit is None:
            # Loaded here: rows do without.
            from perfcase.report import findings
            from perfcase.report.page import Page
            from perfcase.report.printer import Printer
            from perfcase.terminal.render import console

            page = Page(connection)
            findings.write(page, in_full=request.explain)
            Printer(console(), self._case.words).blocks(page.sections[0].blocks)
            return
        super().write(output)
        if not request.rules:
            rows = connection.execute("SELECT finding, missing FROM finding_coverage WHERE NOT is_judged").fetchall()
            for name, why in rows:
                say(f"{name} was not judged: {why}")

    def has_fired(self, severity: str) -> bool:
        """Return whether a rule of at least this severity fired."""
        severe = ", ".join(literal(name) for name in SEVERITIES[: SEVERITIES.index(severity) + 1])
        asked = f"SELECT 1 FROM finding WHERE severity IN ({severe}) LIMIT 1"
        return self._case.connection.execute(asked).fetchone() is not None


def run(request: Request, case: Opened) -> Result:
    """Return every rule that fired, with its figures; or every rule.

    Raises:
        PerfcaseError: what all rules need cannot be worked out (environment, sql).
    """
    return Result(request, case, have_findings(case.connection))

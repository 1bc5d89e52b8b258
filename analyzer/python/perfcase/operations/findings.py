"""What is wrong with a host, by rules: those that fired, and those that could not be judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from perfcase.case.kept import have_findings
from perfcase.case.opening import Opened
from perfcase.catalogue.rules import SEVERITIES
from perfcase.catalogue.schema import literal
from perfcase.operations import fields
from perfcase.operations.request import Asked, Option
from perfcase.operations.result import Rows, say, select


@dataclass(frozen=True, kw_only=True)
class Request(Asked):
    """Whether what fired is asked for, or the rules themselves."""

    rules: Annotated[
        bool, Option("Show every rule instead: whether it could be judged, else why not.", flags=("--rules",))
    ] = False
    limit: fields.Limit = None
    fmt: fields.Format = "table"


class Result(Rows):
    """The rows of the view finding, the most severe first; of ``rules`` those of finding_coverage."""

    def __init__(self, request: Request, case: Opened) -> None:
        view = "finding_coverage" if request.rules else "finding"
        super().__init__(select(case.connection, f"SELECT * FROM {view}", request.limit), request.fmt, request.limit)
        self._request = request
        self._case = case

    def write(self, output: Path | None = None) -> None:
        """A table with nothing else asked for is a page to read. Other forms are rows; which rules could not be judged is told
        beside them."""
        request, connection = self._request, self._case.connection
        if not request.rules and request.fmt == "table" and output is None and request.limit is None:
            # Loaded here: rows do without.
            from perfcase.report import findings
            from perfcase.report.page import Page
            from perfcase.terminal.render import console

            findings.write(Page(connection, console(), self._case.told), in_full=True)
            return
        super().write(output)
        if not request.rules:
            rows = connection.execute("SELECT finding, missing FROM finding_coverage WHERE NOT is_judged").fetchall()
            for name, why in rows:
                say(f"{name} was not judged: {why}")

    def has_fired(self, severity: str) -> bool:
        """Whether a rule fired that is at least that severe."""
        severe = ", ".join(literal(name) for name in SEVERITIES[: SEVERITIES.index(severity) + 1])
        asked = f"SELECT 1 FROM finding WHERE severity IN ({severe}) LIMIT 1"
        return self._case.connection.execute(asked).fetchone() is not None


def run(request: Request, case: Opened) -> Result:
    """Every rule that fired, with its figures; or every rule.

    Raises:
        PerfcaseError: a rule cannot be worked out (sql).
    """
    have_findings(case.connection)
    return Result(request, case)

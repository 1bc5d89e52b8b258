"""Write one page for the ticket."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from perfcase.case.opening import Opened
from perfcase.errors import PerfcaseError
from perfcase.operations.request import BaseRequest, Option
from perfcase.summary import write_html, write_markdown
from perfcase.summary.notes import Note
from perfcase.terminal import render

Form = Literal["html", "md"]
USUAL: Form = "md"
"""The default format."""
_ENDINGS: dict[str, Form] = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md"}
_WRITERS = {"html": write_html, "md": write_markdown}


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """The format of the page."""

    to: Annotated[
        Form | None,
        Option("The format: html or md (Markdown).", besides=" Default: by the suffix of the file.", flags=("--to",)),
    ] = None

    notes: tuple[tuple[str, int, str, int | None, int | None, str | None], ...] = ()
    """Notes of a server, in the order of the fields of ``perfcase.summary.notes.Note``. A file has none."""

    def named(self, output: Path) -> Request:
        """Return the request for a file with this name.

        Raises:
            PerfcaseError: neither the name nor the request says the format (usage).
        """
        form = self.to or _ENDINGS.get(output.suffix.lower())
        if form is None:
            raise PerfcaseError(
                "usage", f"{output}: a summary is .html or .md", "name such a file with -o, or use --to"
            )
        return replace(self, to=form)


@dataclass(frozen=True)
class Result:
    """The page."""

    text: str

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``."""
        render.write_text(self.text, output)


def run(request: Request, case: Opened) -> Result:
    """Write a page with findings, the tables of the report, flame graphs, what is missing and how far to trust it.

    Raises:
        PerfcaseError: the capture cannot be opened (input).
    """
    written = [Note(*each) for each in request.notes]
    return Result(_WRITERS[request.to or USUAL](case.connection, case.name_words, written))

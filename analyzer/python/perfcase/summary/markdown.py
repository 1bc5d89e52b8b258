"""The summary as Markdown that GitHub, GitLab and Roundup show alike: headings, and blocks of text that stays as it is.

Names from captures are hostile: in a block of text they are no links, no mentions, no markup, and no block ends early, for its
fence is longer than any run of backticks in it.
"""

from __future__ import annotations

import io
import re
import textwrap

from rich.console import Console

from perfcase.lazy import duckdb
from perfcase.report.page import Page
from perfcase.report.writer import write_sections
from perfcase.summary import missing

_WIDTH = 110


class _MarkdownPage(Page):
    """Collects each section's text."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, file: str) -> None:
        self._text = io.StringIO()
        # Blocks of text do not wrap: what is a sentence is wrapped here.
        super().__init__(connection, Console(file=self._text, highlight=False, width=100_000), file, _WIDTH)
        self.sections: list[tuple[str, str]] = []

    def heading(self, text: str) -> None:
        self._end()
        self.sections.append((text, ""))

    def _end(self) -> None:
        lines = [line.rstrip() for line in self._text.getvalue().splitlines()]
        self._text.seek(0)
        self._text.truncate()
        if self.sections:
            self.sections[-1] = (self.sections[-1][0], textwrap.dedent("\n".join(lines)).strip("\n"))

    def finished(self) -> list[tuple[str, str]]:
        """Return the titles and texts of all sections."""
        self._end()
        return self.sections


def write_markdown(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the summary of the capture ``name``."""
    page = _MarkdownPage(connection, name)
    write_sections(page, in_full=True)
    missing.write(page)
    parts = ["# perfcase summary\n"]
    for title, text in page.finished():
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        parts.append(f"## {title}\n\n{fence}text\n{text}\n{fence}\n")
    return "\n".join(parts)

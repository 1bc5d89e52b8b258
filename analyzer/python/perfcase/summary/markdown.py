"""The summary as Markdown that GitHub, GitLab and Roundup show alike: headings, and blocks of text that stays as it is.

Names from captures are hostile: in a block of text they are no links, no mentions, no markup, and no block ends early, for its
fence is longer than any run of backticks in it.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence

from rich.console import Console

from perfcase.lazy import duckdb
from perfcase.report.document import Section
from perfcase.report.page import Page
from perfcase.report.printer import Printer
from perfcase.report.writer import sections
from perfcase.summary import missing, notes

_WIDTH = 110


def write_markdown(connection: duckdb.DuckDBPyConnection, name: str, written_down: Sequence[notes.Note] = ()) -> str:
    """Return the summary of the capture ``name``."""
    first, last = Page(connection), Page(connection)
    notes.write(first, written_down)
    missing.write(last)
    parts = ["# perfcase summary\n"]
    for section in (*first.sections, *sections(connection, in_full=True), *last.sections):
        text = _text(section, name)
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        parts.append(f"## {section.title}\n\n{fence}text\n{text}\n{fence}\n")
    return "\n".join(parts)


def _text(section: Section, name: str) -> str:
    """Return what is in a section. Blocks of text do not wrap: what is a sentence is wrapped here."""
    written = io.StringIO()
    Printer(Console(file=written, highlight=False, width=100_000), name, _WIDTH).blocks(section.blocks)
    lines = [line.rstrip() for line in written.getvalue().splitlines()]
    return textwrap.dedent("\n".join(lines)).strip("\n")

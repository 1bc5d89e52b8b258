"""What people wrote about the capture on a server."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from perfcase.report.page import Page
from perfcase.text import plural, stretch

TITLE = "Notes"
_LINE = 1500
"""Characters of a line: a longer one would be cut."""
_TEXT_MAX = 200_000
"""Characters of all notes on the page, which has to fit into a ticket."""


@dataclass(frozen=True)
class Note:
    """A note with its author, the time of day in ns, and where in the recording it belongs."""

    author: str
    written_ns: int
    text: str
    start_ns: int | None = None
    end_ns: int | None = None
    finding: str | None = None


def write(page: Page, notes: Sequence[Note]) -> None:
    """Add the section, if there are notes."""
    if not notes:
        return
    page.heading(TITLE)
    room = _TEXT_MAX
    for number, note in enumerate(notes):
        room -= len(note.text)
        if room < 0:
            page.line(f"and {plural(len(notes) - number, 'more note')} on the server", "quiet")
            return
        page.line(", ".join(filter(None, (note.author, _when(note), _where(note)))), "quiet")
        for line in note.text.splitlines():
            for part in textwrap.wrap(line, _LINE, drop_whitespace=False, replace_whitespace=False) or [""]:
                page.line(part)


def _when(note: Note) -> str:
    return f"{datetime.fromtimestamp(note.written_ns / 1e9, UTC):%Y-%m-%d %H:%M} UTC"


def _where(note: Note) -> str:
    window = (
        f"from {stretch(note.start_ns, note.end_ns)} of the recording"
        if note.start_ns is not None and note.end_ns is not None
        else ""
    )
    return ", ".join(filter(None, (window, f"finding {note.finding}" if note.finding else "")))

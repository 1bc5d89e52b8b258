"""A table of rows as lines of text, as Rich lays it out where no cell is folded: Rich takes a hundred times as long.

A test compares both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from perfcase.terminal.lines import plain
from perfcase.text import safe

_GAP = "   "
_BOLD, _DIM, _USUAL = "\x1b[1m", "\x1b[2m", "\x1b[0m"
NULL = "NULL"


@dataclass(frozen=True)
class Layout:
    """Cells with the widths of their columns; None is NULL."""

    names: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    widths: Sequence[int]
    are_numbers: Sequence[bool]

    @property
    def width(self) -> int:
        """The columns of a terminal that a line takes."""
        return sum(self.widths) + len(_GAP) * max(len(self.widths) - 1, 0)

    def text(self, *, is_coloured: bool) -> str:
        """Return the lines."""
        if not self.names:
            return "\n"
        head = self._line(self.names, is_coloured=False)
        lines = [f"{_BOLD}{head}{_USUAL}" if is_coloured else head, "─" * self.width]
        lines += [self._line(row, is_coloured=is_coloured) for row in self.rows]
        return "\n".join(lines) + "\n"

    def _line(self, row: Sequence[str | None], *, is_coloured: bool) -> str:
        padded = []
        for cell, width, is_number in zip(row, self.widths, self.are_numbers, strict=True):
            text = NULL if cell is None else cell
            space = " " * (width - cell_width(text))
            shown = f"{_DIM}{text}{_USUAL}" if cell is None and is_coloured else text
            padded.append(space + shown if is_number else shown + space)
        return _GAP.join(padded)


def layout(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Layout:
    """Measure a table of plain values: text made safe, numbers to the right."""
    heads = [safe(name) for name in names]
    texts = [[cell_text(value) for value in row] for row in rows]
    widths = [
        max([cell_width(head), *(cell_width(NULL if row[at] is None else row[at]) for row in texts)])
        for at, head in enumerate(heads)
    ]
    return Layout(heads, texts, widths, [is_numeric(rows, at) for at in range(len(heads))])


def is_numeric(rows: Sequence[Sequence[object]], at: int) -> bool:
    """Return whether a column has numbers."""
    return any(isinstance(row[at], (int, float, Decimal)) and not isinstance(row[at], bool) for row in rows)


def cell_text(value: object) -> str | None:
    """Return a value as people read it; None for NULL."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(value, ".6g")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (list, tuple, dict)):
        return safe(json.dumps(plain(value), ensure_ascii=False))
    return safe(str(value))


def cell_width(text: str) -> int:
    """Return the columns of a terminal that a text takes, as Rich counts them."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)

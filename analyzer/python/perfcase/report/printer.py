"""A report as text. Sentences wrap, commands do not: they are there to be copied."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from perfcase.report.document import Block, Check, Column, Command, Fact, Finding, Line, Section, Source, Table
from perfcase.text import count, safe

_STYLES = {"quiet": "dim", "note": "default", "warning": "yellow", "critical": "bold red"}
_WORDS_MIN = 20
"""Characters that words in a table are cut to at most, so that the figures beside them fit."""


def command_of(block: Source | Command | Finding, file: str) -> str:
    """Return the command line that shows what is behind a block."""
    if isinstance(block, Finding):
        return f'perfcase sql {file} "{block.evidence}"'
    if isinstance(block, Command):
        return f"perfcase {block.words} {file}"
    link = block.link
    where = f' --where "{link.where}"' if link.where else ""
    order = f' --order "{link.order}"' if link.order else ""
    return f"perfcase view {link.to} {file}{where}{order}"


class Printer:
    """Prints sections on a console. Sentences wrap at ``width`` characters, by default those of the console."""

    def __init__(self, console: Console, file: str, width: int | None = None) -> None:
        self._console = console
        self._file = file
        self._width = width or console.width

    def section(self, section: Section) -> None:
        """Print a section with its heading."""
        if section.title:
            self._console.print()
            self._console.print(Text(section.title, style="bold cyan"))
        self.blocks(section.blocks)

    def blocks(self, blocks: Sequence[Block]) -> None:
        """Print what is in a section."""
        for block in blocks:
            if isinstance(block, Line):
                self._line(block.text, _STYLES.get(block.tone, ""), block.indent)
            elif isinstance(block, Fact):
                self._hanging(Text(f"  {block.label:<14}", style="dim"), Text(block.text))
            elif isinstance(block, Check):
                style = _STYLES.get(block.tone, "")
                text = Text(f"{block.text}  " if block.text else "", style=style).append(f"↳ {block.view}", style="dim")
                self._hanging(Text(f"  {block.tool:<12}", style="bold"), text)
            elif isinstance(block, Table):
                self._table(block)
            else:
                if isinstance(block, Finding):
                    self._finding(block)
                    if not block.advice:
                        continue
                line = Text(f"  ↳ {safe(command_of(block, self._file))}", style="dim")
                self._console.print(line, soft_wrap=True)

    def _line(self, text: str, style: str = "", indent: int = 0) -> None:
        self._hanging(Text("  " + " " * indent), Text(text, style=style))

    def _finding(self, block: Finding) -> None:
        indent = 2 if block.follows_from else 0
        self._line(f"{block.severity:<10}{block.heading}", _STYLES[block.severity], indent)
        for subject, message in block.subjects:
            self._line(f"{subject}: {message}", indent=indent + 10)
        if block.more_count:
            self._line(f"and {count(block.more_count)} more (view finding)", indent=indent + 10)
        for label, text in block.advice:
            self._line(f"{label}: {text}", indent=indent + 10)

    def _hanging(self, head: Text, body: Text) -> None:
        """Print text with a hanging indent."""
        indent = head.cell_len
        for line in body.wrap(self._console, max(self._width - indent, 20)):
            line.rstrip()
            self._console.print(head.append_text(line), soft_wrap=True)
            head = Text(" " * indent)

    def _table(self, table: Table) -> None:
        """Print a small, indented table. Where it is too wide, words are cut and columns go below; figures stay whole."""
        columns = table.columns
        cells = [[c.cut(cell.text, c.limit) for c, cell in zip(columns, row, strict=True)] for row in table.rows]
        room = self._console.width - 2
        widths, gap = _widths(columns, cells, room)
        for group in _groups(widths, gap, room):
            grid = Grid(box=None, pad_edge=False, show_edge=False, header_style="dim", padding=(0, gap, 0, 0))
            grid.add_column("", width=2 - gap)
            for at in group:
                column = columns[at]
                grid.add_column(column.heading, justify="left" if column.left else "right", no_wrap=True)
            for row in cells:
                grid.add_row("", *(Text(columns[at].cut(row[at], widths[at])) for at in group))
            self._console.print(grid, crop=False)


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], room: int) -> tuple[list[int], int]:
    """Return how wide each column is, words cut as far as they may be, and the gap between two."""
    widths = [max(map(cell_len, (column.heading, *(row[at] for row in cells)))) for at, column in enumerate(columns)]
    gap = 2 if sum(widths) + 2 * len(widths) <= room else 1
    for at in sorted(range(len(columns)), key=lambda at: -widths[at]):
        excess = sum(widths) + gap * len(widths) - room
        if excess > 0 and columns[at].limit:
            widths[at] = max(widths[at] - excess, min(widths[at], _WORDS_MIN))
    return widths, gap


def _groups(widths: Sequence[int], gap: int, room: int) -> list[list[int]]:
    """Return the columns that stand side by side in ``room`` characters; each group begins with the first column."""
    groups: list[list[int]] = []
    taken = room
    for at, width in enumerate(widths[1:], 1):
        if taken + width + gap > room:
            groups.append([0])
            taken = widths[0] + gap
        groups[-1].append(at)
        taken += width + gap
    return groups or [[0]]

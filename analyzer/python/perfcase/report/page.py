"""What a section writes on: headings, facts, small tables, and the view behind each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perfcase.case.coverage import why_empty
from perfcase.catalogue.schema import literal
from perfcase.lazy import duckdb
from perfcase.text import safe, shorten

Format = Callable[[Any], str]

NOT_THE_RECORDER = "utid NOT IN (SELECT utid FROM recorder_thread)"
"""A condition that leaves out the recorder's own threads: what they cost has a block of its own."""

NOT_THE_RECORDERS_NAME = "(comm IN (SELECT comm FROM recorder_thread WHERE comm IS NOT NULL)) IS NOT TRUE"
"""The same in a view that knows only the names of threads."""

SEEN_RUNNING = "utid IN (SELECT utid FROM thread_time WHERE switch_count > 0)"
"""A condition for threads whose switches were recorded. A recording of one command knows at most a wakeup of others."""


_WORDS_MIN = 20
"""Characters that words in a table are cut to at most, so that the figures beside them fit."""


@dataclass(frozen=True)
class Column:
    """A column of a small table: its heading, how to write a value, and whether it may be cut to fit.

    ``tail``: of what is cut the end stays.
    """

    heading: str
    write: Format = str
    left: bool = False
    limit: int | None = None
    tail: bool = False

    def cut(self, cell: str, limit: int) -> str:
        """Return the cell in at most ``limit`` characters."""
        if self.tail and len(cell) > limit:
            return "…" + cell[len(cell) - limit + 1 :]
        return shorten(cell, limit)


class Page:
    """A report under construction. Sentences wrap at ``width``; commands do not: they are there to be copied."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, console: Console, file: str, width: int | None = None
    ) -> None:
        self.connection = connection
        self._console = console
        self._width = width or console.width
        self._file = file

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries. One that fails costs a line that says so, not the report."""
        try:
            cursor = self.connection.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except duckdb.Error as error:
            self.failed(error)
            return []

    def failed(self, error: duckdb.Error) -> None:
        """Say why something is not here. An interrupted query is no failure: it ends the report."""
        if isinstance(error, duckdb.InterruptException):
            raise error
        self.line(f"(cannot be worked out: {safe(str(error).splitlines()[0])})", "yellow")

    def rows_of(self, view: str, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query on a view; none where the case has no such view."""
        return self.rows(sql) if self.has_view(view) else []

    def has_view(self, view: str) -> bool:
        """Return whether the case, which an older perfcase may have made, has this view."""
        found = self.connection.execute("SELECT 1 FROM duckdb_views() WHERE view_name = ?", [view])
        return bool(found.fetchone())

    def has_rows(self, view: str) -> bool:
        """Return whether a view has rows."""
        return self.has_view(view) and bool(self.rows(f"SELECT 1 AS one FROM {view} LIMIT 1"))

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._console.print()
        self._console.print(Text(text, style="bold cyan"))

    def line(self, text: str, style: str = "") -> None:
        """Print one line of text."""
        words = text.lstrip(" ")
        self._hanging(Text("  " + " " * (len(text) - len(words))), Text(safe(words), style=style))

    def fact(self, label: str, value: str) -> None:
        """Print a label and its value."""
        self._hanging(Text(f"  {label:<14}", style="dim"), Text(safe(value)))

    def tool(self, name: str, text: str, view: str, style: str = "") -> None:
        """Print a line of the checklist: the tool, its result, the view behind it."""
        told = Text(f"{safe(text)}  " if text else "", style=style).append(f"↳ {view}", style="dim")
        self._hanging(Text(f"  {name:<12}", style="bold"), told)

    def _hanging(self, head: Text, body: Text) -> None:
        """Print text with a hanging indent."""
        indent = head.cell_len
        for line in body.wrap(self._console, max(self._width - indent, 20)):
            line.rstrip()
            self._console.print(head.append_text(line), soft_wrap=True)
            head = Text(" " * indent)

    def idle(self, name: str, view: str, text: str) -> bool:
        """Write ``text`` for a view that has data, but no row worth a line. Return whether it has data."""
        fed = self.is_fed(view)
        if fed:
            self.tool(name, text, view)
        return fed

    def tool_table(self, name: str, view: str, sql: str, columns: Sequence[Column], when_idle: str) -> None:
        """Print a block of the checklist: the tool, and the rows of a query on a view."""
        rows = self.rows_of(view, sql)
        if rows:
            self.tool(name, "", view)
            self.table(columns, [list(row.values()) for row in rows])
        elif not self.idle(name, view, when_idle):
            self.absent(name, view)

    def listing(self, what: str, view: str, sql: str, columns: Sequence[Column], more: str = "") -> None:
        """Print a section with one table: the rows of a query on a view, or why there are none."""
        rows = self.rows(sql)
        if rows:
            self.table(columns, [list(row.values()) for row in rows])
            self.source(view, more)
        else:
            self.missing(what, view)

    def is_fed(self, view: str) -> bool:
        """Return whether the tables have rows that a view needs: if the view is then empty, nothing of the kind happened."""
        if not self.has_view(view):
            return False
        return bool(self.rows(f"SELECT 1 FROM view_coverage WHERE view_name = {literal(view)} AND is_fed"))

    def absent(self, name: str, view: str) -> None:
        """Print a line of the checklist without data in this capture."""
        if self.has_view(view):
            rows = self.rows(f"SELECT reason FROM view_coverage WHERE view_name = {literal(view)}")
            why = rows[0]["reason"] if rows and rows[0]["reason"] else "not in this capture"
            self.tool(name, f"- ({why})", view, "dim")

    def source(self, view: str, more: str = "") -> None:
        """Print the name of the view behind the last block."""
        self._console.print(Text(f"  ↳ perfcase view {view} {safe(self._file)}{more}", style="dim"), soft_wrap=True)

    def query(self, sql: str) -> None:
        """Give the query that shows what is behind what was just written."""
        self._console.print(Text(f'  ↳ perfcase sql {safe(self._file)} "{safe(sql)}"', style="dim"), soft_wrap=True)

    def command(self, name: str) -> None:
        """Print the command that shows more."""
        self._console.print(Text(f"  ↳ perfcase {name} {safe(self._file)}", style="dim"), soft_wrap=True)

    def missing(self, what: str, view: str) -> None:
        """Say that there is nothing to show, why, and how to record it."""
        why = why_empty(self.connection, view) if self.has_view(view) else None
        self.line(f"{what}: {why or 'not in this capture'}", "dim")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> None:
        """Print a small, indented table. Where it is too wide, words are cut and columns go below; figures stay whole."""
        cells = [list(written(columns, row)) for row in rows]
        widths = [
            max(map(cell_len, (column.heading, *(row[at] for row in cells)))) for at, column in enumerate(columns)
        ]
        room = self._console.width - 2
        gap = 2 if sum(widths) + 2 * len(widths) <= room else 1
        for at in sorted(range(len(columns)), key=lambda at: -widths[at]):
            excess = sum(widths) + gap * len(widths) - room
            if excess > 0 and columns[at].limit:
                widths[at] = max(widths[at] - excess, min(widths[at], _WORDS_MIN))
        for group in _groups(widths, gap, room):
            table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim", padding=(0, gap, 0, 0))
            table.add_column("", width=2 - gap)
            for at in group:
                column = columns[at]
                table.add_column(column.heading, justify="left" if column.left else "right", no_wrap=True)
            for row in cells:
                table.add_row("", *(Text(columns[at].cut(row[at], widths[at])) for at in group))
            self._console.print(table, crop=False)


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


def written(columns: Sequence[Column], row: Sequence[Any]) -> Iterator[str]:
    """Yield the cells of a row as a reader sees them."""
    for column, value in zip(columns, row, strict=True):
        cell = safe("-" if value is None else column.write(value))
        yield column.cut(cell, column.limit) if column.limit else cell

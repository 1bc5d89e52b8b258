"""What a section writes on: headings, facts, small tables, and the view behind each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from perfcase.coverage import why_empty
from perfcase.schema import literal
from perfcase.text import safe, shorten

if TYPE_CHECKING:
    import duckdb
else:
    from perfcase.lazy import duckdb

Format = Callable[[Any], str]

NOT_THE_RECORDER = (
    "coalesce(comm, '') NOT IN ('perfcase-helper', 'perfcase-record')"
    " AND coalesce(pid NOT IN (SELECT pid FROM recorder_process WHERE pid IS NOT NULL), true)"
)
"""A condition that leaves out the recorder's own threads: what they cost has a block of its own."""

SEEN_RUNNING = "utid IN (SELECT utid FROM thread_time WHERE switch_count > 0)"
"""A condition for threads whose switches were recorded. Of others a recording of one command knows a wakeup at most."""


@dataclass(frozen=True)
class Column:
    """A column of a small table: its heading, how to write a value, and whether it may be cut to fit."""

    heading: str
    write: Format = str
    left: bool = False
    limit: int | None = None


class Page:
    """A report under construction."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, console: Console, file: str) -> None:
        self.connection = connection
        self._console = console
        self._file = file

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of a query as dictionaries."""
        cursor = self.connection.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def rows_of(self, view: str, sql: str) -> list[dict[str, Any]]:
        """The rows of a query on a view; none where the case has no such view."""
        return self.rows(sql) if self.has_view(view) else []

    def has_view(self, view: str) -> bool:
        """Whether the case, which an older perfcase may have made, has this view."""
        found = self.connection.execute("SELECT 1 FROM duckdb_views() WHERE view_name = ?", [view])
        return bool(found.fetchone())

    def has_rows(self, view: str) -> bool:
        """Whether a view has anything to say."""
        return self.has_view(view) and bool(self.connection.execute(f"SELECT 1 FROM {view} LIMIT 1").fetchone())

    def heading(self, text: str) -> None:
        """Begins a section."""
        self._console.print()
        self._console.print(Text(text, style="bold cyan"))

    def line(self, text: str, style: str = "") -> None:
        """One line of text."""
        self._console.print(Text("  " + safe(text), style=style), soft_wrap=True)

    def fact(self, label: str, value: str) -> None:
        """A label and its value."""
        self._console.print(Text(f"  {label:<14}", style="dim").append(safe(value), style="default"), soft_wrap=True)

    def tool(self, name: str, text: str, view: str, style: str = "") -> None:
        """A line of the checklist: the tool that one would have run, what it says, the view behind it."""
        line = Text(f"  {name:<12}", style="bold").append(f"{safe(text)}  " if text else "", style=style or "default")
        self._console.print(line.append(f"↳ {view}", style="dim"), soft_wrap=True)

    def idle(self, name: str, view: str, text: str) -> bool:
        """Writes ``text`` for a view that is fed, but has nothing that is worth a line; whether it is."""
        fed = self.is_fed(view)
        if fed:
            self.tool(name, text, view)
        return fed

    def tool_table(self, name: str, view: str, sql: str, columns: Sequence[Column], when_idle: str) -> None:
        """A block of the checklist: the tool that one would have run, and the rows of a query on a view."""
        rows = self.rows_of(view, sql)
        if rows:
            self.tool(name, "", view)
            self.table(columns, [list(row.values()) for row in rows])
        elif not self.idle(name, view, when_idle):
            self.absent(name, view)

    def listing(self, what: str, view: str, sql: str, columns: Sequence[Column], more: str = "") -> None:
        """A section that is one table: the rows of a query on a view, or why there are none."""
        rows = self.rows(sql)
        if rows:
            self.table(columns, [list(row.values()) for row in rows])
            self.source(view, more)
        else:
            self.missing(what, view)

    def is_fed(self, view: str) -> bool:
        """Whether the tables have rows that a view needs: then it being empty means that nothing of the kind happened."""
        if not self.has_view(view):
            return False
        return bool(self.rows(f"SELECT 1 FROM view_coverage WHERE view_name = {literal(view)} AND is_fed"))

    def absent(self, name: str, view: str) -> None:
        """A line of the checklist that this capture cannot answer."""
        if self.has_view(view):
            rows = self.rows(f"SELECT reason FROM view_coverage WHERE view_name = {literal(view)}")
            why = rows[0]["reason"] if rows and rows[0]["reason"] else "not in this capture"
            self.tool(name, f"- ({why})", view, "dim")

    def source(self, view: str, more: str = "") -> None:
        """Names the view behind what was just written."""
        self._console.print(Text(f"  ↳ perfcase view {view} {safe(self._file)}{more}", style="dim"), soft_wrap=True)

    def query(self, sql: str) -> None:
        """Gives the query that shows what is behind what was just written."""
        self._console.print(Text(f'  ↳ perfcase sql {safe(self._file)} "{safe(sql)}"', style="dim"), soft_wrap=True)

    def command(self, name: str) -> None:
        """Names the command that says more."""
        self._console.print(Text(f"  ↳ perfcase {name} {safe(self._file)}", style="dim"), soft_wrap=True)

    def missing(self, what: str, view: str) -> None:
        """Says that there is nothing to show, why, and what would record it."""
        why = why_empty(self.connection, view) if self.has_view(view) else None
        self.line(f"{what}: {why or 'not in this capture'}", "dim")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> None:
        """A small table, indented."""
        table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        table.add_column("", width=0)
        for column in columns:
            table.add_column(column.heading, justify="left" if column.left else "right", no_wrap=True)
        for row in rows:
            table.add_row("", *(Text(cell) for cell in written(columns, row)))
        self._console.print(table, crop=False)


def written(columns: Sequence[Column], row: Sequence[Any]) -> Iterator[str]:
    """The cells of a row as a reader sees them."""
    for column, value in zip(columns, row, strict=True):
        cell = safe("-" if value is None else column.write(value))
        yield shorten(cell, column.limit) if column.limit else cell

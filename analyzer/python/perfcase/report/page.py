"""What a section writes on: headings, facts, small tables, and the view behind each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

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

    def has_rows(self, view: str) -> bool:
        """Whether a view has anything to say."""
        return bool(self.connection.execute(f"SELECT 1 FROM {view} LIMIT 1").fetchone())

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

    def source(self, view: str, more: str = "") -> None:
        """Names the view behind what was just written."""
        self._console.print(Text(f"  ↳ perfcase view {view} {safe(self._file)}{more}", style="dim"), soft_wrap=True)

    def missing(self, what: str, kinds: Sequence[str]) -> None:
        """Says that there is nothing to show, and why, from the sources that would feed it."""
        self.line(f"{what}: not in this capture.", "dim")
        wanted = ", ".join(f"'{kind}'" for kind in kinds)
        query = (
            "SELECT name, reason, remedy FROM source"
            f" WHERE kind IN ({wanted}) AND status <> 'available' AND reason IS NOT NULL ORDER BY source_id"
        )
        for row in self.rows(query):
            self.line(f"{row['name']}: {row['reason']}{'; ' + row['remedy'] if row['remedy'] else ''}", "dim")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> None:
        """A small table, indented."""
        table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        table.add_column("", width=0)
        for column in columns:
            table.add_column(column.heading, justify="left" if column.left else "right", no_wrap=True)
        for row in rows:
            cells = []
            for column, value in zip(columns, row, strict=True):
                written = safe("-" if value is None else column.write(value))
                cells.append(Text(shorten(written, column.limit) if column.limit else written))
            table.add_row("", *cells)
        self._console.print(table, crop=False)

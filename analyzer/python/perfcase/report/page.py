"""What a section writes on: headings, facts, small tables, and the view behind each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from perfcase.case.coverage import why_empty
from perfcase.case.query import sql_error
from perfcase.catalogue.histogram import added_up, keys_of
from perfcase.catalogue.schema import literal, quote
from perfcase.catalogue.views import load_views
from perfcase.lazy import duckdb
from perfcase.report.document import Block, Check, Column, Command, Fact, Line, Link, Section, Source, Table, Tone
from perfcase.text import plural, safe

NOT_THE_RECORDER = "utid NOT IN (SELECT utid FROM recorder_thread)"
"""A condition that leaves out the recorder's own threads: what they cost has a block of its own."""

NOT_THE_RECORDERS_NAME = "(comm IN (SELECT comm FROM recorder_thread WHERE comm IS NOT NULL)) IS NOT TRUE"
"""The same in a view that knows only the names of threads."""

Row = dict[str, Any]


class Page:
    """A report under construction: it gathers sections."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.sections: list[Section] = []

    def select(
        self, view: str, columns: str = "*", *, where: str = "", order: str = "", limit: int | None = None
    ) -> list[Row]:
        """Return columns of a view or table: filtered, ordered, the first. Nothing is worked out here: that is the view's to do.

        A query that fails costs a line that says so, not the report; a view that this case does not have costs nothing.
        """
        if not self.has_view(view):
            return []
        parts = [f"SELECT {columns} FROM {quote(view)}"]
        parts += [f"{word} {text}" for word, text in (("WHERE", where), ("ORDER BY", order), ("LIMIT", limit)) if text]
        return self._rows(" ".join(parts))

    def histogram(self, view: str, where: str) -> list[tuple[Any, ...]]:
        """Return the histogram of these rows of a view, added up (``perfcase view --by -``): each bucket's beginning, end and count."""
        if not self.has_view(view):
            return []
        how, keys = keys_of(load_views().get(view), "-")
        columns = ", ".join(map(quote, (how.low, how.high, how.count)))
        added = added_up(how, keys, f"SELECT * FROM {quote(view)} WHERE {where}")
        return [tuple(row.values()) for row in self._rows(f"SELECT {columns} FROM ({added})")]

    def _rows(self, sql: str) -> list[Row]:
        try:
            cursor = self.connection.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except duckdb.Error as error:
            self.failed(error)
            return []

    def first(self, view: str, columns: str = "*", *, where: str = "", order: str = "") -> Row | None:
        """Return the first of these rows, or the only one."""
        rows = self.select(view, columns, where=where, order=order, limit=1)
        return rows[0] if rows else None

    def has_view(self, view: str) -> bool:
        """Return whether the case, which an older perfcase may have made, has this view."""
        return view in self._views

    @cached_property
    def _views(self) -> set[str]:
        return {name for (name,) in self.connection.execute("SELECT view_name FROM duckdb_views()").fetchall()}

    def has_rows(self, view: str) -> bool:
        """Return whether a view has rows."""
        return bool(self.select(view, "1 AS one", limit=1))

    def is_fed(self, view: str) -> bool:
        """Return whether the tables have rows that a view needs: if the view is then empty, nothing of the kind happened."""
        return bool(self.select("view_coverage", where=f"view_name = {literal(view)} AND is_fed"))

    def failed(self, error: duckdb.Error) -> None:
        """Say why something is not here. An interrupted query is no failure: it ends the report."""
        if isinstance(error, duckdb.InterruptException):
            raise error
        self.line(f"(cannot be worked out: {safe(str(sql_error(error)))})", "warning")

    def put(self, block: Block) -> None:
        """Add a block to the last section."""
        if not self.sections:
            self.heading("")
        self.sections[-1].blocks.append(block)

    def heading(self, text: str, name: str = "") -> None:
        """Begin a section."""
        self.sections.append(Section(text, name))

    def line(self, text: str, tone: Tone = "", indent: int = 0) -> None:
        """Add one line of text."""
        self.put(Line(safe(text), tone, indent))

    def more(self, rows: Sequence[object], shown: int, noun: str, after: str = "", tone: Tone = "") -> None:
        """Say how many of the rows are not among the first ``shown``, if any."""
        if len(rows) > shown:
            self.line(f"and {plural(len(rows) - shown, noun)}{after}", tone)

    def fact(self, label: str, text: str) -> None:
        """Add a label and its value."""
        self.put(Fact(label, safe(text)))

    def check(self, tool: str, text: str, view: str, tone: Tone = "") -> None:
        """Add an entry of the checklist: the tool, its result, the view behind it."""
        self.put(Check(tool, safe(text), view, tone))

    def idle(self, tool: str, view: str, text: str) -> bool:
        """Write ``text`` for a view that has data, but no row worth a line. Return whether it has data."""
        fed = self.is_fed(view)
        if fed:
            self.check(tool, text, view)
        return fed

    def check_table(
        self, tool: str, view: str, rows: Sequence[Row], columns: Mapping[str, Column], when_idle: str
    ) -> None:
        """Add a block of the checklist: the tool, and rows of a view."""
        if rows:
            self.check(tool, "", view)
            self.table(columns, rows)
        elif not self.idle(tool, view, when_idle):
            self.absent(tool, view)

    def listing(
        self, what: str, view: str, rows: Sequence[Row], columns: Mapping[str, Column], order: str = ""
    ) -> None:
        """Add a table of rows of a view, or why there are none."""
        if rows:
            self.table(columns, rows)
            self.source(view, order=order)
        else:
            self.missing(what, view)

    def absent(self, tool: str, view: str) -> None:
        """Add an entry of the checklist without data in this capture."""
        if self.has_view(view):
            known = self.first("view_coverage", "reason", where=f"view_name = {literal(view)}")
            why = (known and known["reason"]) or "not in this capture"
            self.check(tool, f"- ({why})", view, "quiet")

    def missing(self, what: str, view: str) -> None:
        """Say that there is nothing to show, why, and how to record it."""
        why = why_empty(self.connection, view) if self.has_view(view) else None
        self.line(f"{what}: {why or 'not in this capture'}", "quiet")

    def source(self, view: str, where: str = "", order: str = "") -> None:
        """Name the view behind the last block."""
        self.put(Source(Link("view", view, where, order)))

    def command(self, words: str) -> None:
        """Add a command that shows more. FILE stands for the capture."""
        self.put(Command(words))

    def table(self, columns: Mapping[str, Column], rows: Sequence[Row]) -> None:
        """Add a small table: these columns of the rows, by the names that the rows have for them."""
        cells = [[column.cell(row[name], row) for name, column in columns.items()] for row in rows]
        self.put(Table([*columns.values()], cells))

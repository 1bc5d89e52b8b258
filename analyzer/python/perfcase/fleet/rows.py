"""The figure of each of many captures, from the rows of a view that their imports keep.

DuckDB plans a view for each capture that it is asked of, which takes longer than to answer. The kept rows of dozens of captures are read by one
statement; their figures are those of ``perfcase.fleet.metric``, by capture.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perfcase.case import database, query
from perfcase.case.kept import FEW_ROWS_MAX, FEW_SIZE_MAX, Kept, impossible, in_file
from perfcase.case.sharing import FINDINGS
from perfcase.catalogue.schema import quote
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from perfcase.fleet import condition, figures, metric
from perfcase.fleet.metric import Metric, Reading
from perfcase.lazy import duckdb

_FILES_AT_ONCE = 64
_CAPTURE, _IMPOSSIBLE = quote("number of the capture"), quote("no row of the view")
"""Columns beside the view's: whose a row is, and whether no import can have kept it. A condition that names one is none over the view's columns."""
_TIMES = ("snapshot", "ts_ns", "interval_ns")
"""Columns that an aggregation may read besides those that are named."""


def read_many(wanted: Metric, kept: Mapping[Path, Kept]) -> dict[Path, Reading]:
    """Return the figure of each imported folder that keeps the rows of the view; ``kept``: what each of them keeps.

    Left out are those that must be asked themselves: their rows are missing, damaged, too many or none that the view can have. All are left
    out where the condition reads more than a row.
    """
    if wanted.view not in load_views() or len(kept) < 2:
        return {}
    there = [(place, each) for place, each in kept.items() if _are_in(each, wanted.view)]
    found = _read(wanted, there) if there else {}
    if wanted.where and not found:
        # Nothing has read the condition: it may be wrong, which a capture says.
        return {}
    empty = {place: _none(wanted, each) for place, each in kept.items() if place not in found}
    return found | {place: none for place, none in empty.items() if none}


def _read(wanted: Metric, there: Sequence[tuple[Path, Kept]]) -> dict[Path, Reading]:
    found: dict[Path, Reading] = {}
    template = database.template_at_hand()
    if not template:
        return {}
    try:
        with query.over_files(template, [each.path(f"{wanted.view}.parquet") for _, each in there]) as connection:
            rows = _Rows(connection, wanted)
            if not rows.can_answer():
                return {}
            for first in range(0, len(there), _FILES_AT_ONCE):
                found |= rows.read(dict(there[first : first + _FILES_AT_ONCE]))
    except (PerfcaseError, duckdb.Error) as error:
        _raise_if_stopped(error)
    return found


def _are_in(kept: Kept, view: str) -> bool:
    """Return whether there are files that may be read."""
    # What was found and what could be judged are of one working out.
    names = [f"{each}.parquet" for each in (FINDINGS if view in FINDINGS else [view])]
    sizes = [kept.size_bytes(name) for name in names]
    return all(size is not None and size <= FEW_SIZE_MAX for size in sizes)


def _none(wanted: Metric, kept: Kept) -> Reading | None:
    """Return the reading of a view without rows, if it is known to have none."""
    told = figures.recall(kept, wanted.view)
    if isinstance(told, str):
        return metric.none(wanted, told)
    count = figures.read_kept(told, Metric(wanted.view, None, "count"))
    if not count or count.row_count:
        return None
    why = count.problem or (metric.NO_FINDINGS if wanted.view == "finding" else None)
    return metric.none(wanted, why) if why else None


class _Rows:
    """The rows of a view, of some captures at a time: as much of them as the figure reads."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, wanted: Metric) -> None:
        self._connection = connection
        self._wanted = wanted
        asked = "SELECT column_name, data_type FROM duckdb_columns() WHERE NOT internal AND table_name = $1 ORDER BY column_index"
        self._kinds = dict(connection.execute(asked, [wanted.view]).fetchall())
        words = {*_TIMES, *re.findall(r"\w+", f"{wanted.measure} {wanted.by} {wanted.where}")}
        self._read = [name for name in self._kinds if name in words]
        self._in_file = [part for name, kind in self._kinds.items() for part in in_file(name, kind)]
        columns = "".join(f", {quote(name)} {self._kinds[name]}" for name in self._read)
        connection.execute(
            f"CREATE TEMP TABLE kept_rows ({_CAPTURE} INTEGER, {_IMPOSSIBLE} BOOLEAN{columns})"
        ).fetchall()

    def can_answer(self) -> bool:
        """Return whether the figure is one of rows alone."""
        where = self._wanted.where
        if where and not condition.is_of_columns(where, self._kinds.keys()):
            return False
        try:
            self._figures()
        except duckdb.Error as error:
            _raise_if_stopped(error)
            return False
        return True

    def read(self, captures: Mapping[Path, Kept]) -> dict[Path, Reading]:
        """Return the readings of captures whose rows can be read, and are such as the view has."""
        places = [*captures]
        if not self._are_there(captures.values()):
            # One of them is damaged, or not of an import.
            middle = len(places) // 2
            halves = [
                {place: captures[place] for place in half} for half in (places[:middle], places[middle:]) if middle
            ]
            return {place: known for half in halves for place, known in self.read(half).items()}
        good = self._good()
        try:
            found = {number: figure for number, *figure in self._figures()}
        except duckdb.Error as error:
            _raise_if_stopped(error)
            # The condition fails for some row: its capture says so itself.
            return {}
        readings = {
            places[number]: self._reading(captures[places[number]], *found.get(number, (0, None))) for number in good
        }
        return {place: known for place, known in readings.items() if known}

    def _are_there(self, captures: Iterable[Kept]) -> bool:
        try:
            return self._fetch(captures)
        except duckdb.Error as error:
            _raise_if_stopped(error)
            return False

    def _fetch(self, captures: Iterable[Kept]) -> bool:
        """Put the rows of captures into the table. Return whether they are such as an import keeps.

        Raises:
            duckdb.Error: a file cannot be read.
        """
        files = [each.parquet(self._wanted.view) for each in captures]
        # DuckDB would give all files the types of the first one.
        asked = "SELECT list((name, duckdb_type) ORDER BY column_id) FROM parquet_schema($1) WHERE column_id > 0 GROUP BY file_name"
        found = self._connection.execute(asked, [[*{*files}]]).fetchall()
        if len(found) < len({*files}) or any(parts != self._in_file for (parts,) in found):
            return False
        # What a file says of all its rows may be a lie: these are its row groups', and none is read yet.
        ((count,),) = self._connection.execute("SELECT count(*) FROM read_parquet($1)", [files]).fetchall()
        if count > FEW_ROWS_MAX * len(files):
            return False
        self._connection.execute("DELETE FROM kept_rows").fetchall()
        columns = "".join(f", {quote(name)}::{self._kinds[name]}" for name in self._read)
        # A view other than the findings may have any value of its types.
        wrong = impossible("finding", self._kinds) if self._wanted.view == "finding" else "false"
        rows = f"SELECT file_index, {wrong}{columns} FROM read_parquet($1)"
        self._connection.execute(f"INSERT INTO kept_rows {rows}", [files]).fetchall()
        return True

    def _good(self) -> list[int]:
        """Return the numbers of the captures that have rows, few enough, and possible ones."""
        asked = (
            f"SELECT {_CAPTURE}, count(*) <= {FEW_ROWS_MAX} AND NOT bool_or({_IMPOSSIBLE}) FROM kept_rows GROUP BY ALL"
        )
        return [number for number, is_good in self._connection.execute(asked).fetchall() if is_good]

    def _figures(self) -> list[tuple[int, int, float | None]]:
        """Return the number of each capture with rows that are meant, how many these are, and their figure."""
        wanted = self._wanted
        where = f" WHERE ({wanted.where}\n)" if wanted.where else ""
        figure = metric.figure_sql(wanted, self._kinds.keys(), f"(FROM chosen WHERE {_CAPTURE} = one.{_CAPTURE})")
        asked = (
            f"WITH chosen AS MATERIALIZED (SELECT * FROM kept_rows{where})"
            f" SELECT {_CAPTURE}, count(*), ({figure})::DOUBLE FROM chosen AS one GROUP BY {_CAPTURE}"
        )
        return self._connection.execute(asked).fetchall()

    def _reading(self, kept: Kept, count: int, value: float | None) -> Reading | None:
        wanted = self._wanted
        if not count:
            return metric.none(wanted, None)
        recorded = figures.recorded(kept) if wanted.is_per_second else {wanted.view: None}
        if wanted.view not in recorded:
            return None
        return metric.reading_of(wanted, count, value, recorded[wanted.view])


def _raise_if_stopped(error: Exception) -> None:
    if isinstance(error, duckdb.InterruptException):
        raise error

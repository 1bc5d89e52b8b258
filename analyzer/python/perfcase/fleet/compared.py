"""The figures in which captures are compared (perfcase.diff), those of all views of an imported folder in one file.

A history that looks for bands reads this file of each of a thousand captures, and opens none of their databases.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from perfcase.case import query
from perfcase.case.kept import Kept, kept_of, kept_of_all
from perfcase.case.rows import table_of
from perfcase.catalogue.schema import literal
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views
from perfcase.diff.collect import Collected, Key, collect_all
from perfcase.diff.compare import seconds_of
from perfcase.diff.rank import recorder_names
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

_NAME = "compared-figures.parquet"
_COLUMNS = {"view": "VARCHAR", "key": "VARCHAR[]", "measure": "VARCHAR", "value": "DOUBLE"}
_FILES_AT_ONCE = 64
Row = tuple[str, Key, str, float]
"""A view, the key of one of its rows, a measure of it, and its value: amounts per second of what was recorded."""


class Figures:
    """The figures of many captures, by their numbers. Each figure has an id, which is the same for all captures."""

    def __init__(self, views: Iterable[View]) -> None:
        self._views = {view.name: view for view in views if view.diff}
        self._rows = duckdb.connect()
        query.avoid_faults(self._rows)
        query.give_room(self._rows)
        self._rows.execute("CREATE TABLE figure (capture INTEGER, id UBIGINT, value DOUBLE)")
        # Those of folders that keep nothing: they may not be written, or have more figures than a file is kept of.
        self._rows.execute("CREATE TABLE other (capture INTEGER, view VARCHAR, key VARCHAR[], measure VARCHAR, value DOUBLE)")  # fmt: skip
        self._rows.execute("CREATE TABLE known (figure VARCHAR)")
        # The folder of a stranger may have figures that no view has.
        known = [f"{view.name} {measure.name}" for view in self._views.values() for measure in view.diff.measures]
        self._rows.execute("INSERT INTO known SELECT unnest($1)", [known])
        self._sources: dict[int, str] = {}

    def __enter__(self) -> Figures:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()

    def add_kept(self, folders: Sequence[Path]) -> Iterator[int]:
        """Add those that imported folders keep, many in one statement. Return the numbers of the folders that they are read of.

        What cannot be read, or has no figure, is left to ``add``: where one of a statement's files is damaged, that is all of them.
        """
        for first in range(0, len(folders), _FILES_AT_ONCE):
            files = {}
            for number, folder in enumerate(folders[first : first + _FILES_AT_ONCE], first):
                with suppress(PerfcaseError, duckdb.Error, OSError):
                    kept = kept_of_all(folder)
                    if kept.has(_NAME):
                        files[number] = str(kept.path(_NAME))
            if not files:
                continue
            numbers = "SELECT unnest($1::INTEGER[]) AS capture, unnest($2::VARCHAR[]) AS filename"
            source = f"(FROM read_parquet($3, filename = true) JOIN ({numbers}) USING (filename))"
            patterns = [glob.escape(path) for path in {*files.values()}]
            with suppress(duckdb.Error):
                if not self._are_alike(patterns):
                    continue
                read = self._insert([*files], "capture", source, [[*files], [*files.values()], patterns])
                self._sources |= {number: _parquet(files[number]) for number in read}
                yield from read

    def _are_alike(self, patterns: Sequence[str]) -> bool:
        """Return whether files have the same columns: DuckDB gives all files of a statement the types of the first one."""
        asked = "SELECT list((name, duckdb_type) ORDER BY column_id) FROM parquet_schema($1) GROUP BY file_name"
        return len({str(parts) for (parts,) in self._rows.execute(asked, [patterns]).fetchall()}) == 1

    def add(self, number: int, folder: Path) -> None:
        """Add those of an imported folder.

        Raises:
            PerfcaseError: the folder cannot be opened, or a view cannot be worked out.
            duckdb.Error: the capture cannot be read.
            OSError: the tables cannot be listed.
        """
        kept = kept_of_all(folder)
        if self._has_read(number, kept):
            return
        with query.connect(folder) as connection:
            made = work_out(connection, list(self._views.values()))
        if self._has_read(number, kept):
            return
        with table_of("made", _COLUMNS, made) as table:
            self._rows.register("made", query.ArrowStream(table.table("made")))
            self._rows.execute(f"INSERT INTO other SELECT {number}, * FROM made")
            self._rows.unregister("made")
        self._read(number, f"(SELECT * EXCLUDE (capture) FROM other WHERE capture = {number})")

    def often(self, least: float) -> Iterator[tuple[int, list[float]]]:
        """Return the figures that so many captures have: ids and values."""
        most = len(self._sources)
        # A cursor of its own: other questions are asked between its rows.
        cursor = self._rows.cursor().execute(
            "SELECT id, list(value) FROM figure GROUP BY id HAVING count(*) BETWEEN $1 AND $2", [least, most]
        )
        while rows := cursor.fetchmany(256):
            yield from rows

    def of(self, figure: int) -> tuple[View, Key, str, dict[int, float]]:
        """Return the view, the key, the measure and the values by capture."""
        values = dict(
            self._rows.execute("SELECT capture, value FROM figure WHERE id = $1 ORDER BY ALL", [figure]).fetchall()
        )
        source = self._sources[min(values)]
        ((view, key, measure),) = self._rows.execute(
            f"SELECT view, key, measure FROM {source} WHERE hash(view, key, measure) = $1 LIMIT 1", [figure]
        ).fetchall()
        return self._views[view], tuple(key), measure, values

    def _has_read(self, number: int, kept: Kept) -> bool:
        with suppress(duckdb.Error):
            return kept.has(_NAME) and self._read(number, _parquet(str(kept.path(_NAME))))
        return False

    def _read(self, number: int, source: str) -> bool:
        """Whether there was a figure."""
        read = self._insert([number], str(number), source, [])
        self._sources |= dict.fromkeys(read, source)
        return bool(read)

    def _insert(self, numbers: list[int], capture: str, source: str, values: list) -> set[int]:
        """Add the figures of a source, which are of captures of these numbers. Return the numbers that had one."""
        self._rows.execute(
            f"INSERT INTO figure SELECT {capture}, hash(view, key, measure), value FROM (SELECT * REPLACE (view::VARCHAR AS view,"
            f" key::VARCHAR[] AS key, measure::VARCHAR AS measure, value::DOUBLE AS value) FROM {source})"
            " WHERE view || ' ' || measure IN (FROM known)",
            values,
        )
        rows = self._rows.execute("SELECT DISTINCT capture FROM figure WHERE list_contains($1, capture)", [numbers])
        return {number for (number,) in rows.fetchall()}


def _parquet(path: str) -> str:
    return f"read_parquet({literal(glob.escape(path))})"


def work_out(connection: duckdb.DuckDBPyConnection, views: Sequence[View] | None = None) -> list[Row]:
    """Return the figures of views. Those of all views, the default, are kept with the capture, if the connection sees all of it.

    Raises:
        PerfcaseError: a view cannot be worked out.
        duckdb.Error: the capture cannot be read.
    """
    every = [view for view in load_views().values() if view.diff]
    compared = every if views is None else views
    kept = kept_of(connection, [view.name for view in compared])
    fed = {name for (name,) in connection.execute("SELECT view_name FROM view_coverage WHERE is_fed").fetchall()}
    ((duration_ns,),) = connection.execute("SELECT max(try_cast(duration_ns AS BIGINT)) FROM capture").fetchall()
    recorder = recorder_names(connection)
    made: list[Row] = []
    for name, collected in collect_all(connection, [view for view in compared if view.name in fed]).items():
        made += _figures(load_views()[name], collected, duration_ns or 0, recorder)
    if kept and len(compared) == len(every):
        _keep(kept, made)
    return made


def _figures(view: View, collected: Collected, duration_ns: int, recorder: set[str]) -> Iterator[Row]:
    kinds = {measure.name: measure.kind for measure in view.diff.measures}
    seconds = seconds_of(collected, duration_ns)
    for key, row in collected.rows.items():
        # What the recorder did is no figure of the host.
        if recorder.intersection(part for part in key if part):
            continue
        for measure, figure in row.items():
            if measure not in kinds:
                continue
            if kinds[measure] != "sum":
                yield view.name, key, measure, figure.value
            elif seconds > 0:
                yield view.name, key, measure, figure.value / seconds


def _keep(kept: Kept, made: Sequence[Row]) -> None:
    with (
        table_of("figure", _COLUMNS, made) as table,
        suppress(OSError, duckdb.Error),
        kept.replacing() as working,
    ):
        table.execute(f"COPY figure TO {literal(str(working / _NAME))} (FORMAT parquet)")

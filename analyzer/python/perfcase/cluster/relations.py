"""The tables and views of many imported captures as relations of Apache Spark, each with one more column: ``capture``.

Spark reads the Parquet files of the imports where they lie. A view is made once for all captures, and a question is one job.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category
from urllib.parse import quote

from perfcase.case.kept import kept_of_all
from perfcase.case.store import read_info
from perfcase.catalogue.schema import load_catalogue, load_tables, schema_dir
from perfcase.catalogue.views import load_views, with_dependencies
from perfcase.cluster import translation
from perfcase.cluster.dialect import spark_type
from perfcase.cluster.keyed import CAPTURES, KEY
from perfcase.errors import PerfcaseError, unknown
from perfcase.fleet.captures import Capture, SkippedCapture
from perfcase.lazy import duckdb

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession
    from sqlglot import exp

KEPT = ("finding", "finding_coverage")
"""Views that are made of all rules: each import keeps what they say of it."""
_TABLE_ROWS = "table_rows"


@cache
def not_portable() -> dict[str, str]:
    """Return the views that Spark does not answer, with the reason of each."""
    with (schema_dir() / "cluster.toml").open("rb") as file:
        return tomllib.load(file)["not_portable"]


def checked(sql: str) -> tuple[exp.Query, set[str]]:
    """Return a question and the relations that it reads, before there is a Spark.

    Raises:
        PerfcaseError: it is not one SELECT (sql), of no table or view (not_found), or of what Spark does not have (usage).
    """
    tree, names = translation.parsed(sql)
    for name in sorted(names - {CAPTURES}):
        if name not in (*load_tables(), *load_catalogue(), *load_views()):
            raise unknown("view", name, {*load_tables(), *load_views()}, "perfcase views")
        made_from = with_dependencies(load_views(), [] if name in KEPT else [name])
        if lacking := [each for each in made_from if each in not_portable()]:
            reason = f"{name}: not on Spark: {not_portable()[name if name in lacking else lacking[0]]}"
            raise PerfcaseError("usage", reason, "perfcase history, sql and view have it")
    return tree, names


class Relations:
    """The relations of some captures: made in Spark when a question first needs them."""

    def __init__(self, session: SparkSession, captures: Sequence[Capture]) -> None:
        self._session = session
        self._captures = {_key(capture.folder): capture for capture in captures}
        self._made: set[str] = set()
        self.left_out: list[SkippedCapture] = []
        """Captures without what a question needed."""

    def ask(self, sql: str, limit: int | None = None) -> pyarrow.Table:
        """Return the rows that each capture answers to a SELECT in DuckDB's words, each with the name of its capture before it.

        Raises:
            PerfcaseError: it is not one SELECT (sql), of no table or view (not_found), or of what Spark does not have (usage).
        """
        import pyarrow

        tree, names = checked(sql)
        for name in sorted(names):
            self._need(name)
        frame = self._session.sql(translation.translated(tree, self._schema))
        rows = (frame.limit(limit) if limit else frame).toArrow()
        place = rows.column_names.index(KEY)
        keys = rows.column(place).to_pylist()
        order = {key: number for number, key in enumerate(self._captures)}
        names_of = pyarrow.array([self._captures[key].name for key in keys], pyarrow.string())
        # In the order of the captures, and within one as Spark has sorted them.
        sorted_rows = sorted(range(len(keys)), key=lambda row: order[keys[row]])
        return rows.remove_column(place).add_column(0, KEY, names_of).take(pyarrow.array(sorted_rows, pyarrow.int64()))

    @property
    def _schema(self) -> translation.Schema:
        return _schema(next(iter(self._captures.values())).folder)

    def _need(self, name: str) -> None:
        """Make a relation, after those that it is made from."""
        if name in self._made:
            return
        self._frame(name).createOrReplaceTempView(name)
        self._made.add(name)

    def _frame(self, name: str) -> DataFrame:
        folders = {key: capture.folder for key, capture in self._captures.items()}
        if name == CAPTURES:
            return self._session.createDataFrame([(key,) for key in folders], f"{KEY} string")
        if name == _TABLE_ROWS:
            return self._row_counts(folders)
        if name in KEPT:
            return self._files(
                name, {key: kept_of_all(folder).path(f"{name}.parquet") for key, folder in folders.items()}
            )
        if name in load_tables():
            return self._files(name, {key: folder / "tables" / f"{name}.parquet" for key, folder in folders.items()})
        if name in load_catalogue():
            return self._catalogue(name)
        for source in sorted({*load_views()[name].sources, CAPTURES}):
            self._need(source)
        return self._session.sql(translation.of_view(name, self._schema))

    def _files(self, name: str, files: Mapping[str, Path]) -> DataFrame:
        """Return the rows of one table of all captures. One without the file has none of these rows; of what is kept, it is left out."""
        there = {key: path for key, path in files.items() if path.is_file()}
        if name in KEPT:
            why = "its import keeps no findings: import it again with --force"
            self.left_out += [SkippedCapture(self._captures[key].name, why) for key in files.keys() - there.keys()]
        if not there:
            return self._session.createDataFrame([], self._columns(name))
        parts: dict[str, dict[str, Path]] = {}
        for key, path in there.items():
            others = read_info(self._captures[key].folder).get("other_columns", {}).get(name)
            parts.setdefault(json.dumps(others, sort_keys=True), {})[key] = path
        frame, *more = [self._alike(name, part) for part in parts.values()]
        for each in more:
            frame = frame.unionByName(each)
        return frame

    def _alike(self, name: str, files: Mapping[str, Path]) -> DataFrame:
        """Return the rows of files that have the same columns: an event of another kernel has others."""
        from pyspark.sql import functions as f

        key, first = next(iter(files.items()))
        schema = self._session.read.parquet(_pattern(first)).schema
        rows = self._session.read.schema(schema).parquet(*map(_pattern, files.values()))
        columns = []
        for column, kind in self._schema[name].items():
            value = f.col(f"`{column}`") if column in schema.names else f.lit(None)
            made = spark_type(kind) or (None if column in schema.names else "STRING")
            columns.append((value.cast(made) if made else value).alias(column))
        path = f.col("_metadata.file_path")
        # The end of a path is as long in each capture.
        end = len(_key(first)) - len(key)
        return rows.select(*columns, f.substr(path, f.lit(1), f.length(path) - end).alias(KEY))

    def _columns(self, name: str) -> str:
        """Return the columns of a table as Spark declares them."""
        made = {column: spark_type(kind) or "STRING" for column, kind in self._schema[name].items()}
        return ", ".join(f"`{column}` {kind}" for column, kind in {**made, KEY: "STRING"}.items())

    def _catalogue(self, name: str) -> DataFrame:
        """Return a table of the catalogue: it is the same for all captures, and has no column ``capture``."""
        database = next(iter(self._captures.values())).folder / "case.duckdb"
        with duckdb.connect(str(database), read_only=True) as connection:
            return self._session.createDataFrame(connection.sql(f"FROM {name}").to_arrow_table())

    def _row_counts(self, folders: Mapping[str, Path]) -> DataFrame:
        """Return how many rows each table of each capture has, as its file says."""
        rows: list[tuple[str, int, str]] = []
        with duckdb.cursor() as connection:
            for key, folder in folders.items():
                files = [str(path) for path in sorted((folder / "tables").glob("*.parquet"))]
                sql = "SELECT parse_filename(file_name, true), num_rows FROM parquet_file_metadata(?)"
                rows += [(name, count, key) for name, count in connection.execute(sql, [files]).fetchall()]
        return self._session.createDataFrame(rows, f"table_name string, row_count bigint, {KEY} string")


_SAFE = "/!$&'()*+,;=:@~-._"
_ESCAPED = ("Cc", "Zl", "Zp", "Zs")
"""Beyond ASCII Java's URIs escape only control characters and spaces."""


def _key(path: Path) -> str:
    """Return a path as Spark says it of a file that it reads."""
    # Not resolved: Spark says the path that it was given, links and all.
    kept = (
        each if ord(each) > 127 and category(each) not in _ESCAPED else quote(each, safe=_SAFE)
        for each in str(path.absolute())
    )
    return "file:" + "".join(kept)


def _pattern(path: Path) -> str:
    """Return a path for Spark to read, which takes it for a pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", str(path.absolute()))


@cache
def _schema(folder: Path) -> translation.Schema:
    """Return the types of the columns of each table and view, in DuckDB's words."""
    sql = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
    found: dict[str, dict[str, str]] = {}
    with duckdb.connect(str(folder / "case.duckdb"), read_only=True) as connection:
        for table, column, kind in connection.execute(sql).fetchall():
            found.setdefault(table, {})[column] = kind
    return found

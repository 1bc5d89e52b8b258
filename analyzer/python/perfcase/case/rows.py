"""Rows of Python as a table, so that every output format gets them the way it gets a view's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perfcase.catalogue.schema import quote
from perfcase.lazy import duckdb


def table_of(name: str, columns: Mapping[str, str], rows: Iterable[Sequence[object]]) -> duckdb.DuckDBPyConnection:
    """Return a connection to a database in memory with these rows in a table. ``columns``: their names and DuckDB types, in the order of
    the values of a row."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(
        f"CREATE TABLE {quote(name)} ({', '.join(f'{quote(each)} {kind}' for each, kind in columns.items())})"
    )
    by_column = [list(values) for values in zip(*rows, strict=True)]
    if by_column:
        # A list for each column: row by row it takes forty times as long.
        lists = ", ".join(f"unnest(${number}::{kind}[])" for number, kind in enumerate(columns.values(), 1))
        connection.execute(f"INSERT INTO {quote(name)} SELECT {lists}", by_column)
    return connection

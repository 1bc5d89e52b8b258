"""Statements whose text DuckDB has read: that of all rules and figures takes it a fifteenth of an import. A server reads them before it forks.

Only for texts of which there is a fixed number: what is read stays in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from perfcase.lazy import duckdb

_READ: dict[str, duckdb.Statement] = {}


def parsed(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Return one statement, to be executed on any connection.

    Raises:
        duckdb.Error: it is none.
    """
    if sql not in _READ:
        (_READ[sql],) = connection.extract_statements(sql)
    return _READ[sql]


def read_before(statements: Iterable[str]) -> None:
    """Read statements that will be executed. What is wrong with one is said then."""
    with duckdb.connect(config={"threads": 1}) as connection:
        for sql in statements:
            with suppress(duckdb.Error):
                parsed(connection, sql)

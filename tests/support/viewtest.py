"""Reads and runs the ``.test`` files of tests/views (their form: tests/views/README.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import duckdb

from perfcase.case import query
from perfcase.catalogue.schema import load_catalogue, load_tables, quote
from perfcase.catalogue.view import View
from perfcase.catalogue.views import create_view, in_dependency_order, load_views
from tests.support import descriptors
from tests.support.run_queue import derive

_KEYWORD = re.compile(r"(case|input|query|rows)\b\s*(.*)")
_INPUT = re.compile(r"(\w+)\s*\((.*)\)", re.DOTALL)


class FormError(Exception):
    """A .test file that is not in the form."""


@dataclass
class Input:
    """Rows of one source table."""

    table: str
    columns: list[str]
    types: list[str | None]
    tuples: list[str]
    select: str | None = None


@dataclass
class Query:
    """A query and the rows that it must give, as written."""

    sql: str
    rows: list[list[str]]
    line: int


@dataclass
class Case:
    """Input tables and the queries on them."""

    name: str
    inputs: list[Input] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)


def parse(path: Path) -> list[Case]:
    """The cases of a file."""
    cases: list[Case] = []
    for number, keyword, argument, body in sections(path):
        where = f"{path.name}:{number}"
        if keyword == "case":
            cases.append(Case(argument))
            continue
        if not cases:
            raise FormError(f"{where}: '{keyword}' before the first 'case'")
        case = cases[-1]
        if keyword == "input":
            case.inputs.append(parse_input(argument, body, where))
        elif keyword == "query":
            case.queries.append(Query("\n".join(body).strip().rstrip(";"), None, number))
        elif not case.queries or case.queries[-1].rows is not None:
            raise FormError(f"{where}: 'rows' without a 'query' before it")
        else:
            case.queries[-1].rows = [split_cells(line) for line in body if line.strip()]
    for case in cases:
        if not case.queries or any(query.rows is None for query in case.queries):
            raise FormError(f"{path.name}: case '{case.name}' lacks a query or its rows")
    if not cases:
        raise FormError(f"{path.name}: no case")
    return cases


def sections(path: Path) -> list[tuple[int, str, str, list[str]]]:
    """(line number, keyword, what follows on its line, body) of each section."""
    found: list[tuple[int, str, str, list[str]]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        keyword = _KEYWORD.fullmatch(line)
        if keyword:
            found.append((number, keyword[1], keyword[2].strip(), []))
        elif not line.strip():
            continue
        elif line[0].isspace() and found:
            found[-1][3].append(line)
        else:
            raise FormError(f"{path.name}:{number}: neither a keyword nor an indented line: {line}")
    return found


def parse_input(argument: str, body: list[str], where: str) -> Input:
    """An ``input`` section: the table, its columns, the tuples."""
    match = _INPUT.fullmatch(argument)
    if not match:
        raise FormError(f"{where}: expected 'input TABLE (column, …)'")
    columns, types = [], []
    for column in match[2].split(","):
        name, _, given = column.strip().partition(" ")
        columns.append(name)
        types.append(given.strip() or None)
    text = "\n".join(body)
    select = text.strip() if text.lstrip().upper().startswith("SELECT ") else None
    return Input(match[1], columns, types, [] if select else split_tuples(text), select)


def split_tuples(text: str) -> list[str]:
    """The tuples of a VALUES list, as text, so that they can also go in in reverse."""
    tuples, depth, start, quoted = [], 0, 0, False
    for at, char in enumerate(text):
        if char == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{":
            start = at if depth == 0 else start
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                tuples.append(text[start : at + 1])
    return tuples


def split_cells(line: str) -> list[str]:
    """The cells of a row; ``\\|`` is not a separator."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())]


ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "|": "\\|"})


def render(value: object) -> str:
    """A value as it is written in ``rows``."""
    if type(value) is int:  # most are, or texts
        return str(value)
    if type(value) is str:
        text = value.translate(ESCAPES)
        return f'"{text}"' if not text or text != text.strip() or text == "NULL" else text
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(value, ".12g")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(render(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {render(item)}" for key, item in value.items()) + "}"
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return render(str(value))


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Every table of the schema and of the catalogue, empty."""
    for table in (load_tables() | load_catalogue()).values():
        columns = ", ".join(f"{quote(column.name)} {column.sql_type}" for column in table.columns)
        connection.execute(f"CREATE TABLE {quote(table.name)} ({columns})")


@cache
def database(views: frozenset[View]) -> duckdb.DuckDBPyConnection:
    """Every table of the schema, empty, and these views. Made once: DuckDB takes seconds to bind them all."""
    connection = duckdb.connect(config={"threads": 1})
    query.tune(connection)
    create_tables(connection)
    for view in in_dependency_order({view.name: view for view in views}).values():
        create_view(connection, view)
    return connection


@contextmanager
def filled(
    case: Case, *, reverse: bool = False, views: dict[str, View] | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database with the case's rows, by a connection with variables of its own; as empty as before afterwards."""
    with database(frozenset((views or load_views()).values())).cursor() as connection:
        connection.begin()
        try:
            fill(connection, case, reverse)
            derive(connection, {entry.table: entry.columns for entry in case.inputs})
            yield connection
        finally:
            connection.rollback()


def fill(connection: duckdb.DuckDBPyConnection, case: Case, reverse: bool) -> None:
    """Puts the case's rows into their tables; a table that the schema does not have is made."""
    made: set[str] = set()
    for entry in case.inputs:
        if entry.table not in load_tables() and entry.table not in load_catalogue() and entry.table not in made:
            if None in entry.types:
                raise FormError(f"case '{case.name}': the schema has no table {entry.table}: give its columns types")
            columns = ", ".join(f"{quote(c)} {t}" for c, t in zip(entry.columns, entry.types, strict=True))
            connection.execute(f"CREATE TABLE {quote(entry.table)} ({columns})")
            made.add(entry.table)
        tuples = entry.tuples[::-1] if reverse else entry.tuples
        columns = ", ".join(map(quote, entry.columns))
        if entry.select:
            rows = f"SELECT row_number() OVER () AS row_number, * FROM ({entry.select})"
            order = "DESC" if reverse else "ASC"
            connection.execute(
                f"INSERT INTO {quote(entry.table)} ({columns}) SELECT * EXCLUDE (row_number) FROM ({rows}) ORDER BY row_number {order}"
            )
        elif tuples:
            connection.execute(f"INSERT INTO {quote(entry.table)} ({columns}) VALUES {', '.join(tuples)}")
    given = {entry.table for entry in case.inputs}
    if given & descriptors.INPUTS and not given & {"descriptor", "socket_turn"}:
        descriptors.fill(connection)


def check(case: Case, views: dict[str, View] | None = None) -> list[str]:
    """Runs a case; the failures, each with the actual result in the form of the file."""
    failures = []
    for reverse in (False, True):
        with filled(case, reverse=reverse, views=views) as connection:
            for query in case.queries:
                actual = [[render(v) for v in row] for row in connection.execute(query.sql).fetchall()]
                if len(actual) > 1 and not re.search(r"\border\s+by\b", query.sql, re.IGNORECASE):
                    failures.append(f"line {query.line}: more than one row and no ORDER BY")
                if actual != query.rows:
                    order = " (input rows reversed)" if reverse else ""
                    shown = "\n".join("  " + " | ".join(row) for row in actual)
                    wanted = "\n".join("  " + " | ".join(row) for row in query.rows)
                    failures.append(f"line {query.line}{order}: {query.sql}\nexpected\n{wanted}\nactual\n{shown}")
        if failures:
            break
    return failures

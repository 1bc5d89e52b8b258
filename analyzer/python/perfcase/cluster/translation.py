"""A question in DuckDB's SQL about a capture, as one in Spark's about many."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import sqlglot
from sqlglot import exp

from perfcase.catalogue.schema import load_catalogue
from perfcase.catalogue.views import load_views
from perfcase.cluster.dialect import lowered, spark_type
from perfcase.cluster.keyed import CAPTURES, KEY, Keyed
from perfcase.errors import PerfcaseError

Schema = Mapping[str, Mapping[str, str]]
"""The DuckDB types of the columns of each relation."""


def parsed(sql: str) -> tuple[exp.Query, set[str]]:
    """Return one SELECT, and the relations that it reads.

    Raises:
        PerfcaseError: it is something else, or calls a function that has no translation (sql).
    """
    try:
        trees = sqlglot.parse(sql, read="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise PerfcaseError("sql", f"not read as SQL: {str(error).splitlines()[0]}") from error
    for tree in trees:
        _from_zero(tree)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise PerfcaseError("sql", "give one SELECT")
    _check(trees[0])
    return trees[0], _relations(trees[0])


def _from_zero(tree: exp.Expression | None) -> None:
    """Count places of lists from 0: sqlglot does it where it sees that the place is a number."""
    for each in tree.find_all(exp.Bracket) if tree else ():
        (index, *_) = each.expressions
        is_moved = isinstance(index, exp.Add) and isinstance(index.expression, exp.Neg)
        is_done = (
            is_moved
            or isinstance(index, (exp.Slice, exp.Literal, exp.Neg))
            or index.is_type(*exp.DataType.INTEGER_TYPES)
        )
        if not is_done:
            each.set("expressions", [exp.Sub(this=exp.paren(index.copy()), expression=exp.Literal.number(1))])


FUNCTIONS = frozenset({"bin", "getvariable", "hash", "list_contains", "list_position", "list_reverse", "list_select"})
"""Functions that sqlglot does not know and Spark has, or gets others for (perfcase.cluster.dialect). Spark has some that read files and run code."""


def _check(tree: exp.Query) -> None:
    """Check that a SELECT calls and reads nothing but what is ours.

    Raises:
        PerfcaseError: it does (sql).
    """
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() not in FUNCTIONS:
            raise PerfcaseError("sql", f"{call.name}: no such function on Spark")
    for table in tree.find_all(exp.Table):
        if table.db or table.catalog or not isinstance(table.this, (exp.Identifier, exp.GenerateSeries, exp.Unnest)):
            raise PerfcaseError("sql", f"{table.sql('duckdb')}: name a table or view")


def _relations(tree: exp.Query) -> set[str]:
    common = {each.alias for each in tree.find_all(exp.CTE)}
    found = {table.name for table in tree.find_all(exp.Table) if table.name}
    return found - common | {CAPTURES}


def translated(tree: exp.Query, schema: Schema) -> str:
    """Return the SELECT for Spark; its last column is the capture."""
    shared = frozenset(load_catalogue()) - {"table_rows"}
    try:
        keyed = Keyed(schema, shared).rewritten(tree)
        with_key = {
            name: {**columns, KEY: "VARCHAR"} if name not in shared else columns for name, columns in schema.items()
        }
        return lowered(keyed, {**with_key, CAPTURES: {KEY: "VARCHAR"}})
    except sqlglot.errors.SqlglotError as error:
        raise PerfcaseError("sql", str(error).splitlines()[0]) from error
    except NotImplementedError as error:
        raise PerfcaseError("usage", f"Spark cannot be asked that: {error}") from error


@cache
def _view_tree(name: str) -> exp.Query:
    tree, _ = parsed(load_views()[name].sql)
    # A view is a set of rows: the question says their order.
    tree.set("order", None)
    return tree


def of_view(name: str, schema: Schema) -> str:
    """Return a view's SELECT for Spark, with the types that DuckDB gives its columns."""
    inner = translated(_view_tree(name), schema)
    columns = ", ".join(
        f"CAST(`{column}` AS {made}) AS `{column}`" if (made := spark_type(kind)) else f"`{column}`"
        for column, kind in schema[name].items()
    )
    return f"SELECT {columns}, `{KEY}` FROM ({inner})"

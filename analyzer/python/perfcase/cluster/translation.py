"""A question in DuckDB's SQL about a capture, as one in Spark's about many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

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
    with _not_too_deep():
        tree = _read(sql)
        _check(tree)
        return tree, _relations(tree)


@contextmanager
def _not_too_deep() -> Iterator[None]:
    """Say of SQL that is nested too deeply that it is: sqlglot calls itself for each level."""
    try:
        yield
    except RecursionError:
        raise PerfcaseError(
            "sql",
            "nested too deeply for Spark: brackets, functions, CASE, NOT and the like in each other",
            "about 30 levels can be asked; perfcase sql takes 100, capture by capture",
        ) from None


def _read(sql: str) -> exp.Query:
    try:
        trees = sqlglot.parse(sql, read="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise PerfcaseError("sql", f"not read as SQL: {str(error).splitlines()[0]}") from error
    for tree in trees:
        _from_zero(tree)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise PerfcaseError("sql", "give one SELECT")
    return trees[0]


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


PROVEN = frozenset(
    [
        "Abs",
        "And",
        "AnyValue",
        "ArgMax",
        "ArgMin",
        "Array",
        "ArrayAgg",
        "ArrayDistinct",
        "ArrayFilter",
        "ArraySort",
        "ArrayToString",
        "Avg",
        "Case",
        "Cast",
        "Coalesce",
        "ConcatWs",
        "Count",
        "Exists",
        "Explode",
        "First",
        "Format",
        "GenerateSeries",
        "Greatest",
        "GroupConcat",
        "Hex",
        "If",
        "Lag",
        "LastValue",
        "Lead",
        "Least",
        "Left",
        "Length",
        "Log",
        "LogicalAnd",
        "LogicalOr",
        "Lower",
        "LowerHex",
        "MapFromEntries",
        "Max",
        "Median",
        "Min",
        "Nullif",
        "Or",
        "PercentileDisc",
        "Pow",
        "RegexpExtract",
        "RegexpLike",
        "RegexpReplace",
        "RegrR2",
        "RegrSlope",
        "Replace",
        "Round",
        "RowNumber",
        "Split",
        "SplitPart",
        "Sqrt",
        "StartsWith",
        "StddevSamp",
        "Struct",
        "Substring",
        "Sum",
        "Transform",
        "Trim",
        "TryCast",
        "bin",
        "getvariable",
        "hash",
        "list_position",
        "list_reverse",
        "list_select",
    ]
)
"""Functions that views have which tests compare with DuckDB, as sqlglot calls them. Others may mean something else on Spark, read files or run code."""


REFUSED: tuple[tuple[type[exp.Expression], Callable[[Any], bool], str], ...] = (
    (exp.Log, lambda call: call.expression is None, "log of one number, which is of base 10 in DuckDB and of e there"),
    (exp.Max, lambda call: bool(call.expressions), "max of several"),
    (exp.Min, lambda call: bool(call.expressions), "min of several"),
    (exp.RegexpLike, lambda call: bool(call.args.get("flag")), "letters of regexp_matches"),
    (exp.RegexpReplace, lambda call: call.text("modifiers") not in ("", "g"), "letters of regexp_replace but g"),
    (exp.Select, lambda query: bool(query.args.get("distinct") and query.args.get("limit")), "LIMIT beside DISTINCT"),
)
"""What would become something else without a word."""


def function_name(call: exp.Func) -> str:
    """Return what sqlglot calls a function: its class, or its name where it knows none."""
    return call.name.lower() if isinstance(call, exp.Anonymous) else type(call).__name__


def _check(tree: exp.Query) -> None:
    """Check that a SELECT calls and reads nothing but what is ours.

    Raises:
        PerfcaseError: it does (sql).
    """
    for call in tree.find_all(exp.Func):
        if function_name(call) not in PROVEN:
            name = call.name if isinstance(call, exp.Anonymous) else call.sql_name().lower()
            raise PerfcaseError(
                "usage", f"{name}: not known to mean on Spark what it means in DuckDB", "perfcase sql has it"
            )
    for kind, is_refused, what in REFUSED:
        if any(is_refused(each) for each in tree.find_all(kind)):
            raise PerfcaseError("usage", f"not on Spark: {what}", "perfcase sql has it")
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
        with _not_too_deep():
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
    tree = _read(load_views()[name].sql)
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

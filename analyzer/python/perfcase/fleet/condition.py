"""Whether a user's condition is an expression over the columns of one view: then it says the same of rows wherever they are read from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from perfcase.case import sql_bounds
from perfcase.catalogue.views import parser
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

_CLASSES = frozenset(
    {"BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR", "TYPE"}
)
"""Kinds of expressions. Others read other rows (SUBQUERY, WINDOW), stand for several columns (STAR), or have names of their own (LAMBDA)."""
_LENGTH_MAX = 1000
"""Characters of a condition that is looked at."""
_OF_DATABASE = frozenset({"json_serialize_plan"})
"""Functions that look at the tables that there are; DuckDB does not say so of them."""


def is_of_columns(condition: str, columns: Collection[str]) -> bool:
    """Return whether a condition is one expression over these columns, and functions of them that depend on nothing else. What is wrong or
    anything more is not."""
    if len(condition) > _LENGTH_MAX:
        return False
    try:
        sql_bounds.check(condition)
        asked, plain = _selected(condition), _selected("true")
    except (PerfcaseError, duckdb.Error, ValueError, KeyError, RecursionError):
        return False
    expression = asked.pop("where_clause", None)
    plain.pop("where_clause")
    # "true) UNION SELECT … WHERE (true" is a condition, too.
    return asked == plain and all(_is_plain(node, columns) for node in _expressions(expression))


def _selected(condition: str) -> dict[str, Any]:
    sql = f"SELECT 1 FROM chosen WHERE ({condition}\n)"
    ((tree,),) = parser().cursor().execute("SELECT json_serialize_sql($1)", [sql]).fetchall()
    (statement,) = json.loads(tree)["statements"]
    return statement["node"]


def _expressions(node: object) -> Iterator[dict[str, Any]]:
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            pending += each
        elif isinstance(each, dict):
            if "class" in each:
                yield each
            pending += each.values()


def _is_plain(node: dict[str, Any], columns: Collection[str]) -> bool:
    if node["class"] == "COLUMN_REF":
        (name, *more) = node["column_names"]
        return not more and name in columns
    if node["class"] == "FUNCTION":
        return node["function_name"] in _functions()
    return node["class"] in _CLASSES


@cache
def _functions() -> frozenset[str]:
    """Return the functions of DuckDB whose value depends on their arguments alone."""
    asked = (
        "SELECT function_name FROM duckdb_functions() GROUP BY ALL"
        " HAVING bool_and(function_type = 'scalar' AND stability = 'CONSISTENT')"
    )
    return frozenset(name for (name,) in parser().cursor().execute(asked).fetchall()) - _OF_DATABASE

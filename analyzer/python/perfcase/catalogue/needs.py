"""What a view needs: what its SELECT says about when it has no rows.

The answer is a list of alternatives, each a set of tables that all must have rows: an inner join needs both its sides, a
left join its left one, a union any of its parts. It is a necessary condition: a filter may still leave nothing.
``value_needs`` also reads the filters: what asks for calls of some names needs a row with one of these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Any, NamedTuple

from perfcase.catalogue.formula import formulas
from perfcase.catalogue.schema import load_tables
from perfcase.catalogue.view import View
from perfcase.catalogue.views import parsed, parser


class Values(NamedTuple):
    """A row of a table that has one of the values in a column of text."""

    table: str
    column: str
    values: frozenset[str]


Needs = frozenset[frozenset[str | Values]]
"""Alternatives, each of tables and values that all must be there. One that is empty: there are always rows."""

ALWAYS: Needs = frozenset([frozenset()])
NEVER: Needs = frozenset()
ALTERNATIVES_MAX = 32


def view_needs(views: Mapping[str, View]) -> dict[str, Needs]:
    """Return the needs of every view, in tables. ``views`` are in the order of their dependency."""
    return _needs(views, None)


def value_needs(views: Mapping[str, View]) -> dict[str, Needs]:
    """Return the needs of every view, in tables that have rows and in values of their columns of text."""
    return _needs(views, views)


def _needs(views: Mapping[str, View], filtered: Mapping[str, View] | None) -> dict[str, Needs]:
    found: dict[str, Needs] = {}
    for name, view in views.items():
        found[name] = _node(parsed(view)["node"], _Scope(found, frozenset(), filtered))
    return found


@dataclass(frozen=True)
class _Scope:
    """What the names in a query stand for."""

    known: Mapping[str, Needs]
    """The needs of views and common table expressions."""
    steps: frozenset[str]
    """The common table expressions among these."""
    views: Mapping[str, View] | None
    """All views, where the values in filters are read, too."""
    tables: Mapping[str, str | None] | None = None
    """The tables and views of the FROM clause by what they are called there; None for what is neither."""


def either(parts: Iterable[Needs]) -> Needs:
    """Combine the needs of parts of which any is enough."""
    return _least(frozenset(one for part in parts for one in part))


def both(left: Needs, right: Needs) -> Needs:
    """Combine the needs of parts that are all needed."""
    return _least(frozenset(a | b for a in left for b in right))


def _least(needs: Needs) -> Needs:
    """Remove alternatives that need more than another one."""
    least = frozenset(one for one in needs if not any(other < one for other in needs))
    if len(least) > ALTERNATIVES_MAX:  # What all of them share is still a true answer.
        return frozenset([frozenset.intersection(*least)])
    return least


def _node(node: dict[str, Any], scope: _Scope) -> Needs:
    """Return the needs of a query."""
    for entry in (node.get("cte_map") or {}).get("map", ()):
        query = entry["value"].get("query_node") or entry["value"]["query"]["node"]
        scope = _step(scope, entry["key"], _node(query, scope))
    kind = node["type"]
    if kind == "SET_OPERATION_NODE":
        children = [_node(child, scope) for child in node.get("children") or (node["left"], node["right"])]
        operation = node["setop_type"]
        if operation == "EXCEPT":
            return children[0]
        return reduce(both, children) if operation == "INTERSECT" else either(children)
    if kind == "RECURSIVE_CTE_NODE":
        return _node(node["left"], _step(scope, node["cte_name"], ALWAYS))
    if kind != "SELECT_NODE" or _always_one_row(node):
        return ALWAYS
    if ((node.get("where_clause") or {}).get("literal") or {}).get("text") == "false":
        return NEVER
    scope = replace(scope, tables=dict(_tables(node["from_table"], scope)))
    return both(_relation(node["from_table"], scope), _filter(node.get("where_clause"), scope))


def _step(scope: _Scope, name: str, needs: Needs) -> _Scope:
    return replace(scope, known={**scope.known, name: needs}, steps=scope.steps | {name})


def _tables(table: dict[str, Any], scope: _Scope) -> Iterable[tuple[str, str | None]]:
    """Yield what a FROM clause has, by what it is called there."""
    if table["type"] == "JOIN":
        yield from _tables(table["left"], scope)
        yield from _tables(table["right"], scope)
    elif table["type"] == "BASE_TABLE":
        name = table["table_name"]
        yield table.get("alias") or name, None if name in scope.steps else name
    else:
        yield table.get("alias") or "", None


def _always_one_row(node: dict[str, Any]) -> bool:
    """Say whether the query always gives a row: an aggregate without GROUP BY does."""
    if node.get("having"):
        return False
    grouped = node.get("group_expressions") or node.get("aggregate_handling") == "FORCE_AGGREGATES"
    if grouped:
        return [] in (node.get("group_sets") or ())
    return any(_aggregates(expression) for expression in node["select_list"])


def _aggregates(expression: object) -> bool:
    if isinstance(expression, list):
        return any(map(_aggregates, expression))
    if not isinstance(expression, dict) or expression.get("class") in ("WINDOW", "SUBQUERY"):
        return False
    if expression.get("class") == "FUNCTION" and expression["function_name"] in _aggregate_names():
        return True
    return any(map(_aggregates, expression.values()))


@cache
def _aggregate_names() -> frozenset[str]:
    rows = (
        parser()
        .cursor()
        .execute("SELECT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'")
        .fetchall()
    )
    return frozenset(row[0] for row in rows)


def _relation(table: dict[str, Any], scope: _Scope) -> Needs:
    """Return the needs of the FROM clause."""
    kind = table["type"]
    if kind == "BASE_TABLE":
        name = table["table_name"]
        return scope.known[name] if name in scope.known else _table(name, scope)
    if kind == "SUBQUERY":
        return _node(table["subquery"]["node"], scope)
    if kind == "PIVOT":
        return _relation(table["source"], scope)
    if kind != "JOIN":
        return ALWAYS
    left, right = _relation(table["left"], scope), _relation(table["right"], scope)
    joined = table["join_type"]
    if joined in ("LEFT", "ANTI", "SINGLE"):
        return left
    if joined == "RIGHT":
        return right
    if joined in ("OUTER", "FULL"):
        return either((left, right))
    return reduce(both, (left, right, ALWAYS if scope.views is None else _filter(table.get("condition"), scope)))


def _table(name: str, scope: _Scope) -> Needs:
    """Return the needs of a table. One that the importer makes of others may have no rows although they were recorded: what was recorded is needed, or,
    where filters are read, its rows."""
    found = load_tables().get(name) if scope.views is None else None
    return frozenset(frozenset([each]) for each in (found and found.made_of) or (name,))


def _filter(condition: dict[str, Any] | None, scope: _Scope) -> Needs:
    """Return the needs of a filter: IN (SELECT …) and EXISTS (…) need the rows of their SELECT."""
    if not condition:
        return ALWAYS
    if condition["type"] == "CONJUNCTION_AND":
        return reduce(both, (_filter(child, scope) for child in condition["children"]))
    if condition["class"] == "SUBQUERY" and condition.get("subquery_type") in ("ANY", "EXISTS"):
        return _node(condition["subquery"]["node"], scope)
    if condition["type"] == "CONJUNCTION_OR" and scope.views is not None:
        return either(_filter(child, scope) for child in condition["children"])
    return ALWAYS if scope.views is None else _values(condition, scope)


def _values(condition: dict[str, Any], scope: _Scope) -> Needs:
    """Return the needs of a comparison with text: a column that is one of some words."""
    if condition["type"] == "COMPARE_EQUAL":
        column, *words = condition["left"], condition["right"]
    elif condition["type"] == "COMPARE_IN":
        column, *words = condition["children"]
    else:
        return ALWAYS
    texts = [(word.get("literal") or {}) for word in words]
    if column.get("class") != "COLUMN_REF" or any(text.get("kind") != "STRING" for text in texts):
        return ALWAYS
    place = _place(column["column_names"], scope)
    return frozenset([frozenset([Values(*place, frozenset(text["text"] for text in texts))])]) if place else ALWAYS


def _place(names: list[str], scope: _Scope) -> tuple[str, str] | None:
    """Return the table and column that a name in a filter stands for: also where views hand it on as it is."""
    tables = scope.tables or {}
    *alias, column = names
    if len(alias) > 1 or (not alias and len(tables) != 1):
        return None
    table = tables.get(alias[0]) if alias else next(iter(tables.values()))
    while table is not None and scope.views is not None and table in scope.views:
        found = re.fullmatch(r"(\w+)\.(\w+)", formulas(scope.views[table]).get(column, ""))
        table, column = found.groups() if found else (None, column)
    known = load_tables().get(table or "")
    return (known.name, column) if known and any(each.name == column for each in known.columns) else None

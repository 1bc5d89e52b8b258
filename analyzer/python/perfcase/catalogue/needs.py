"""Which tables a view needs: what its SELECT says about when it has no rows.

The answer is a list of alternatives, each a set of tables that all must have rows: an inner join needs both its sides, a
left join its left one, a union any of its parts. It is a necessary condition: a filter may still leave nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, reduce
from typing import Any

from perfcase.catalogue.schema import load_tables
from perfcase.catalogue.view import View
from perfcase.catalogue.views import parsed, parser

Needs = frozenset[frozenset[str]]
"""Alternatives. One that is empty: there are always rows."""

ALWAYS: Needs = frozenset([frozenset()])
NEVER: Needs = frozenset()
ALTERNATIVES_MAX = 32


def view_needs(views: Mapping[str, View]) -> dict[str, Needs]:
    """Return the needs of every view, in tables. ``views`` are in the order of their dependency."""
    found: dict[str, Needs] = {}
    for name, view in views.items():
        statement = parsed(view)
        found[name] = _node(statement["node"], found)
    return found


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


def _node(node: dict[str, Any], known: Mapping[str, Needs]) -> Needs:
    """Return the needs of a query. ``known`` has the needs of the names in it: views and common table expressions."""
    known = dict(known)
    for entry in (node.get("cte_map") or {}).get("map", ()):
        query = entry["value"].get("query_node") or entry["value"]["query"]["node"]
        known[entry["key"]] = _node(query, known)
    kind = node["type"]
    if kind == "SET_OPERATION_NODE":
        children = [_node(child, known) for child in node.get("children") or (node["left"], node["right"])]
        operation = node["setop_type"]
        if operation == "EXCEPT":
            return children[0]
        return reduce(both, children) if operation == "INTERSECT" else either(children)
    if kind == "RECURSIVE_CTE_NODE":
        known[node["cte_name"]] = ALWAYS
        return _node(node["left"], known)
    if kind != "SELECT_NODE" or _always_one_row(node):
        return ALWAYS
    if ((node.get("where_clause") or {}).get("literal") or {}).get("text") == "false":
        return NEVER
    return both(_relation(node["from_table"], known), _filter(node.get("where_clause"), known))


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


def _relation(table: dict[str, Any], known: Mapping[str, Needs]) -> Needs:
    """Return the needs of the FROM clause."""
    kind = table["type"]
    if kind == "BASE_TABLE":
        name = table["table_name"]
        return known[name] if name in known else _table(name)
    if kind == "SUBQUERY":
        return _node(table["subquery"]["node"], known)
    if kind == "PIVOT":
        return _relation(table["source"], known)
    if kind != "JOIN":
        return ALWAYS
    left, right = _relation(table["left"], known), _relation(table["right"], known)
    joined = table["join_type"]
    if joined in ("LEFT", "ANTI", "SINGLE"):
        return left
    if joined == "RIGHT":
        return right
    if joined in ("OUTER", "FULL"):
        return either((left, right))
    return both(left, right)


def _table(name: str) -> Needs:
    """Return the needs of a table. One that the importer makes of others may have no rows although they were recorded."""
    found = load_tables().get(name)
    return frozenset(frozenset([each]) for each in (found and found.made_of) or (name,))


def _filter(condition: dict[str, Any] | None, known: Mapping[str, Needs]) -> Needs:
    """Return the needs of a filter: IN (SELECT …) and EXISTS (…) need the rows of their SELECT."""
    if not condition:
        return ALWAYS
    if condition["type"] == "CONJUNCTION_AND":
        return reduce(both, (_filter(child, known) for child in condition["children"]))
    if condition["class"] == "SUBQUERY" and condition.get("subquery_type") in ("ANY", "EXISTS"):
        return _node(condition["subquery"]["node"], known)
    return ALWAYS

"""How a view computes each of its columns, in SQL: for a reader who wants to know what a figure means.

A name that only passes a column on is followed to where it is computed, through common table expressions and subqueries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perfcase.catalogue.view import View
from perfcase.catalogue.views import parsed, parser

STEPS_MAX = 20
LENGTH_MAX = 400
ALTERNATIVES_MAX = 3
"""Formulas that are shown at any length."""

Node = dict[str, Any]
Scope = Mapping[str, Node]
"""Common table expressions by name."""


@dataclass(frozen=True)
class Place:
    """An expression and the query that it stands in."""

    expression: Node
    node: Node
    scope: Scope


def formulas(view: View) -> dict[str, str]:
    """Return SQL of the columns, by name; of those that are only a column of a table or view, its name.

    The parts of a UNION may compute a column each in its own way: then each formula is shown, or the number of them.
    """
    found: dict[str, list[Place]] = {}
    for column in view.columns:
        places = _column(parsed(view)["node"], column.name, {})
        ends = [end for place in places for end in _followed(place, STEPS_MAX)]
        if ends:
            found[column.name] = _different(ends)
    written = iter(_written([place.expression for places in found.values() for place in places]))
    texts = {name: list(dict.fromkeys(next(written) for _ in places)) for name, places in found.items()}
    return {name: _alternatives(ways) for name, ways in texts.items()}


def _alternatives(ways: list[str]) -> str:
    texts = " or ".join(ways)
    if len(texts) > LENGTH_MAX and len(ways) > ALTERNATIVES_MAX:
        return f"{len(ways)} expressions, in the parts of a UNION"
    return _cut(texts)


def _different(places: list[Place]) -> list[Place]:
    """Remove places with the same expression in the same query."""
    return list({id(place.expression): place for place in places}.values())


def _followed(place: Place, steps: int) -> list[Place]:
    """Return where an expression is computed."""
    names = place.expression.get("column_names") if place.expression["class"] == "COLUMN_REF" else None
    if not names or not steps:
        return [place]
    table = names[-2] if len(names) > 1 else None
    found = _different(_from(place.node.get("from_table"), table, names[-1], place.scope))
    if not found:
        base = _table_of(place.node.get("from_table"), table)
        called = {**place.expression, "column_names": [base, names[-1]]} if base else place.expression
        return [Place(called, place.node, place.scope)]
    return [end for each in found for end in _followed(each, steps - 1)]


def _table_of(table: Node | None, alias: str | None) -> str | None:
    """Return the table or view with this alias; without an alias, the only one."""
    if not table:
        return None
    if table["type"] == "JOIN" and alias is not None:
        return _table_of(table["left"], alias) or _table_of(table["right"], alias)
    if table["type"] == "BASE_TABLE" and alias in (None, table.get("alias"), table["table_name"]):
        return table["table_name"]
    return None


def _column(node: Node, name: str, scope: Scope) -> list[Place]:
    """Return the expression of a column of a query; of a UNION, of each of its parts."""
    inner = {**scope, **_common(node)}
    if node["type"] == "SET_OPERATION_NODE":
        return _of_parts(node, name, inner)
    if node["type"] != "SELECT_NODE":
        return []
    for expression in node["select_list"]:
        if _name(expression) == name.lower():
            return [Place(expression, node, inner)]
    if any(expression["class"] == "STAR" for expression in node["select_list"]):
        return _from(node.get("from_table"), None, name, inner)
    return []


def _common(node: Node) -> dict[str, Node]:
    """Return the common table expressions of a query."""
    entries = (node.get("cte_map") or {}).get("map", ())
    return {entry["key"]: entry["value"].get("query_node") or entry["value"]["query"]["node"] for entry in entries}


def _name(expression: Node) -> str:
    """Return what a column of a SELECT is called."""
    return (expression.get("alias") or (expression.get("column_names") or [""])[-1]).lower()


def _of_parts(node: Node, name: str, scope: Scope) -> list[Place]:
    """Return a column of a UNION. Its first part has the names; in the others a column is what stands in its place."""
    first, *others = node.get("children") or (node["left"], node["right"])
    found = _column(first, name, scope)
    if node["setop_type"] != "UNION" or first["type"] != "SELECT_NODE":
        return found
    at = next((n for n, expression in enumerate(first["select_list"]) if _name(expression) == name.lower()), None)
    for other in others:
        listed = other.get("select_list", ())
        if at is None or any(expression["class"] == "STAR" for expression in listed):
            found += _column(other, name, scope)
        elif at < len(listed):
            found.append(Place(listed[at], other, {**scope, **_common(other)}))
    return found


def _from(table: Node | None, wanted: str | None, name: str, scope: Scope) -> list[Place]:
    """Return the expression of a column of what stands after FROM."""
    if not table:
        return []
    if table["type"] == "JOIN":
        left = _from(table["left"], wanted, name, scope)
        return left or _from(table["right"], wanted, name, scope)
    alias = table.get("alias") or table.get("table_name")
    if wanted is not None and alias != wanted:
        return []
    if table["type"] == "SUBQUERY":
        return _column(table["subquery"]["node"], name, scope)
    if table["type"] == "BASE_TABLE" and table["table_name"] in scope:
        # A common table expression sees those before it; that it might see itself ends with STEPS_MAX.
        others = {key: node for key, node in scope.items() if key != table["table_name"]}
        return _column(scope[table["table_name"]], name, others)
    return []


def _written(expressions: list[Node]) -> list[str]:
    """Return expressions as SQL, on one line each."""
    empty = parsed_select()
    trees = []
    for expression in expressions:
        node = {**empty["statements"][0]["node"], "select_list": [{**expression, "alias": ""}]}
        trees.append(json.dumps({"error": False, "statements": [{**empty["statements"][0], "node": node}]}))
    rows = parser().cursor().execute("SELECT json_deserialize_sql(unnest(?)::JSON)", [trees]).fetchall()
    return [_shortened(row[0].removeprefix("SELECT ")) for row in rows]


def parsed_select() -> Node:
    """Return the tree of a SELECT without FROM, to put expressions in."""
    return json.loads(parser().cursor().execute("SELECT json_serialize_sql('SELECT 1')").fetchone()[0])


def _shortened(text: str) -> str:
    line = re.sub(r'"([a-z_]+)"', r"\1", " ".join(text.split())).replace("count_star()", "count(*)")
    if line.startswith("(") and line.endswith(")") and _closes_at_end(line):
        line = line[1:-1]
    return _cut(line)


def _cut(line: str) -> str:
    return line if len(line) <= LENGTH_MAX else line[: LENGTH_MAX - 1] + "…"


def _closes_at_end(line: str) -> bool:
    depth = 0
    for at, char in enumerate(line):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return at == len(line) - 1
    return False

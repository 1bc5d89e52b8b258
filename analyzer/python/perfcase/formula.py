"""How a view computes each of its columns, in SQL: for a reader who asks what a figure means.

A name that only passes a column on is followed to where it is computed, through common table expressions and subqueries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perfcase.views import View, parsed, parser

STEPS_MAX = 20
LENGTH_MAX = 400

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
    """SQL of the columns, by name; of those that are only a column of a table or view, its name."""
    found = {}
    for column in view.columns:
        place = _column(parsed(view)["node"], column.name, {})
        if place:
            found[column.name] = _followed(place)
    written = _written([place.expression for place in found.values()])
    return dict(zip(found, written, strict=True))


def _followed(place: Place) -> Place:
    for _ in range(STEPS_MAX):
        names = place.expression.get("column_names") if place.expression["class"] == "COLUMN_REF" else None
        if not names:
            break
        table = names[-2] if len(names) > 1 else None
        found = _from(place.node.get("from_table"), table, names[-1], place.scope)
        if not found:
            base = _table_of(place.node.get("from_table"), table)
            called = {**place.expression, "column_names": [base, names[-1]]} if base else place.expression
            return Place(called, place.node, place.scope)
        place = found
    return place


def _table_of(table: Node | None, alias: str | None) -> str | None:
    """The table or view with this alias; without an alias, the only one."""
    if not table:
        return None
    if table["type"] == "JOIN" and alias is not None:
        return _table_of(table["left"], alias) or _table_of(table["right"], alias)
    if table["type"] == "BASE_TABLE" and alias in (None, table.get("alias"), table["table_name"]):
        return table["table_name"]
    return None


def _column(node: Node, name: str, scope: Scope) -> Place | None:
    """The expression of a column of a query."""
    inner = {**scope}
    for entry in (node.get("cte_map") or {}).get("map", ()):
        inner[entry["key"]] = entry["value"].get("query_node") or entry["value"]["query"]["node"]
    if node["type"] == "SET_OPERATION_NODE":
        children = node.get("children") or [node["left"]]
        return _column(children[0], name, inner)
    if node["type"] != "SELECT_NODE":
        return None
    for expression in node["select_list"]:
        named = expression.get("alias") or (expression.get("column_names") or [""])[-1]
        if named.lower() == name.lower():
            return Place(expression, node, inner)
    if any(expression["class"] == "STAR" for expression in node["select_list"]):
        return _from(node.get("from_table"), None, name, inner)
    return None


def _from(table: Node | None, wanted: str | None, name: str, scope: Scope) -> Place | None:
    """The expression of a column of what stands after FROM."""
    if not table:
        return None
    if table["type"] == "JOIN":
        left = _from(table["left"], wanted, name, scope)
        return left or _from(table["right"], wanted, name, scope)
    alias = table.get("alias") or table.get("table_name")
    if wanted is not None and alias != wanted:
        return None
    if table["type"] == "SUBQUERY":
        return _column(table["subquery"]["node"], name, scope)
    if table["type"] == "BASE_TABLE" and table["table_name"] in scope:
        # A common table expression sees those before it; that it might see itself ends with STEPS_MAX.
        others = {key: node for key, node in scope.items() if key != table["table_name"]}
        return _column(scope[table["table_name"]], name, others)
    return None


def _written(expressions: list[Node]) -> list[str]:
    """Expressions as SQL, on one line each."""
    empty = parsed_select()
    trees = []
    for expression in expressions:
        node = {**empty["statements"][0]["node"], "select_list": [{**expression, "alias": ""}]}
        trees.append(json.dumps({"error": False, "statements": [{**empty["statements"][0], "node": node}]}))
    rows = parser().cursor().execute("SELECT json_deserialize_sql(unnest(?)::JSON)", [trees]).fetchall()
    return [_shortened(row[0].removeprefix("SELECT ")) for row in rows]


def parsed_select() -> Node:
    """The tree of a SELECT without FROM, to put expressions in."""
    return json.loads(parser().cursor().execute("SELECT json_serialize_sql('SELECT 1')").fetchone()[0])


def _shortened(text: str) -> str:
    line = re.sub(r'"([a-z_]+)"', r"\1", " ".join(text.split())).replace("count_star()", "count(*)")
    if line.startswith("(") and line.endswith(")") and _closes_at_end(line):
        line = line[1:-1]
    return line if len(line) <= LENGTH_MAX else line[: LENGTH_MAX - 1] + "…"


def _closes_at_end(line: str) -> bool:
    depth = 0
    for at, char in enumerate(line):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return at == len(line) - 1
    return False

"""All views, each after those that it is made from: as ``schema/views/`` has them (perfcase.catalogue.view), and as DuckDB gets them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from perfcase.catalogue.rules import load_rules, with_rules
from perfcase.catalogue.schema import Column, literal, quote, schema_dir
from perfcase.catalogue.view import View, parse_view
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb


@cache
def view_files() -> dict[str, Path]:
    """Return the file of each view by name: to read them all takes a tenth of the time of a short command."""
    return {path.stem: path for path in (schema_dir() / "views").glob("*/*.sql")}


@cache
def load_views(folder: Path | None = None) -> dict[str, View]:
    """Return every view by name, each after the views that it is made from."""
    root = (folder or schema_dir()) / "views"
    views: dict[str, View] = {}
    for path in sorted(root.glob("*/*.sql")):
        if path.stem in views:
            raise PerfcaseError("internal", f"{path}: the view {path.stem} is defined twice")
        views[path.stem] = parse_view(path)
    return in_dependency_order(with_rules(views, load_rules(folder)))


def in_dependency_order(views: Mapping[str, View]) -> dict[str, View]:
    """Return the views, each after those that it is made from: by its header, as to read 120 SELECTs takes half a second."""
    graph = {name: sorted(views.keys() & view.sources) for name, view in views.items()}
    try:
        return {name: views[name] for name in TopologicalSorter(graph).static_order()}
    except CycleError as error:
        raise PerfcaseError("internal", f"views refer to each other in a circle: {error.args[1]}") from error


def with_dependencies(views: Mapping[str, View], wanted: Iterable[str]) -> dict[str, View]:
    """Return those of ``views`` (in dependency order) that are in ``wanted``, and what they are made from."""
    needed: set[str] = set()
    pending = [name for name in wanted if name in views]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += views.keys() & views[name].sources
    return {name: view for name, view in views.items() if name in needed}


def referenced_names(view: View) -> frozenset[str]:
    """Return the tables and views that the SELECT of a view reads."""
    return _names_of(view.sql, str(view.path))


def parsed(view: View) -> dict[str, Any]:
    """Return the SELECT of a view as DuckDB reads it."""
    return _tree(view.sql, str(view.path))


@cache
def parser() -> duckdb.DuckDBPyConnection:
    """Return a connection for reading SQL; it has no tables."""
    return duckdb.connect(config={"threads": 1})


@cache
def _tree(sql: str, where: str) -> dict[str, Any]:
    tree = json.loads(parser().cursor().execute("SELECT json_serialize_sql(?)", [sql]).fetchone()[0])
    if tree.get("error"):
        raise PerfcaseError("internal", f"{where}: not one SELECT: {tree.get('error_message')}")
    return tree["statements"][0]


@cache
def _names_of(sql: str, where: str) -> frozenset[str]:
    found: set[str] = set()
    common: set[str] = set()
    pending: list[object] = [_tree(sql, where)]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += node
        elif isinstance(node, dict):
            if node.get("type") == "BASE_TABLE":
                found.add(node["table_name"])
            common.update(entry["key"] for entry in (node.get("cte_map") or {}).get("map", ()))
            pending += node.values()
    return frozenset(found - common)


def parameters(views: Mapping[str, View], name: str) -> set[str]:
    """Return the variables that a view reads, itself or by the views that it is made from."""
    needed = with_dependencies(views, [name]).values()
    return {found for view in needed for found in re.findall(r"getvariable\('(\w+)'\)", view.sql)}


def create_view(connection: duckdb.DuckDBPyConnection, view: View) -> None:
    """Create a view with its comments, so that any user of the database can read them."""
    try:
        connection.execute(f"CREATE VIEW {quote(view.name)} AS {view.sql}")
        comment(connection, view.name, describe(view.description, view.grain, view.caveats), view.columns)
    except duckdb.Error as error:
        raise PerfcaseError("internal", f"{view.path}: {error}") from error


def describe(description: str, grain: str, caveats: Iterable[str] = ()) -> str:
    """Return the comment on a table or view, in one text."""
    return ". ".join(part.rstrip(".") for part in (description, f"One row is {_bare(grain)}", *caveats)) + "."


def _bare(grain: str) -> str:
    return re.sub(r"^one row is ", "", grain)


def comment(connection: duckdb.DuckDBPyConnection, name: str, text: str, columns: Iterable[Column]) -> None:
    """Run COMMENT ON VIEW, and on these of its columns."""
    connection.execute(f"COMMENT ON VIEW {quote(name)} IS {literal(text)}")
    for column in columns:
        comment_text = f"{column.description} [{column.unit}]" if column.unit else column.description
        connection.execute(f"COMMENT ON COLUMN {quote(name)}.{quote(column.name)} IS {literal(comment_text)}")

"""The views: one ``schema/views/<group>/<view>.sql`` each, a header of comments and one SELECT.

The header is the documentation, and a test holds it to what DuckDB says of the view:

    -- thread_time: how long each thread ran, waited for a CPU and slept
    -- grain: a thread
    -- source: thread_state, thread
    -- caveat: what a reader must know; may be repeated, and continued on indented comment lines
    -- diff by: comm                         and more: how two captures are compared (perfcase.diff.declared)
    -- plot: how a terminal shows it, where the columns' names do not say it (perfcase.plot)
    -- column utid: the capture's own thread key
    -- column on_cpu_ns [ns]: time on a CPU
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from perfcase.diff import declared
from perfcase.diff.declared import Declared
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.schema import Column, literal, quote, schema_dir

_COLUMN = re.compile(r"column (?P<name>\w+)(?: \[(?P<unit>[^\]]+)\])?$")


@dataclass(frozen=True)
class View:
    """A view: its documentation and its SELECT."""

    name: str
    group: str
    description: str
    grain: str
    sources: tuple[str, ...]
    caveats: tuple[str, ...]
    columns: tuple[Column, ...]
    sql: str
    path: Path
    plot: str = ""
    diff: Declared | None = None
    not_compared: str = ""
    """Why two captures are not compared in it."""


@cache
def load_views(folder: Path | None = None) -> dict[str, View]:
    """Every view by name, each after the views that it is made from."""
    root = (folder or schema_dir()) / "views"
    views: dict[str, View] = {}
    for path in sorted(root.glob("*/*.sql")):
        if path.stem in views:
            raise PerfcaseError("internal", f"{path}: the view {path.stem} is defined twice")
        views[path.stem] = parse_view(path)
    # What is made of the findings' rules, which are read as views are.
    from perfcase.findings import load_rules, with_rules

    return in_dependency_order(with_rules(views, load_rules(folder)))


def parse_view(path: Path) -> View:
    """Reads one view file."""
    header, body = split_header(path.read_text(encoding="utf-8"))
    entries = header_entries(header, path)
    if not entries or entries[0][0] != path.stem:
        raise PerfcaseError("internal", f"{path}: the header must begin with '-- {path.stem}: what it is'")
    single = {"grain": "", "source": "", "plot": "", "diff no": ""}
    caveats, columns = [], []
    diff: dict[str, str] = {}
    for key, text in entries[1:]:
        column = _COLUMN.match(key)
        if column:
            columns.append(Column(column["name"], text, column["unit"]))
        elif key == "caveat":
            caveats.append(text)
        elif declared.is_entry(key) and key not in diff:
            diff[key] = text
        elif key in single and not single[key]:
            single[key] = text
        else:
            raise PerfcaseError("internal", f"{path}: the header has an unknown or repeated entry '{key}'")
    try:
        compared = declared.parse(diff, [column.name for column in columns])
    except ValueError as error:
        raise PerfcaseError("internal", f"{path}: {error}") from error
    return View(
        name=path.stem,
        group=path.parent.name,
        description=entries[0][1],
        grain=single["grain"],
        sources=split_names(single["source"]),
        caveats=tuple(caveats),
        columns=tuple(columns),
        sql=body.strip().rstrip(";").strip(),
        path=path,
        plot=single["plot"],
        diff=compared,
        not_compared=single["diff no"],
    )


def split_names(text: str) -> tuple[str, ...]:
    """The names of a header entry, which stand between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def split_header(text: str) -> tuple[list[str], str]:
    """The comment lines that a view file begins with (without the dashes), and the rest."""
    lines = text.splitlines()
    end = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return [line[2:] for line in lines[:end]], "\n".join(lines[end:])


def header_entries(lines: Iterable[str], path: Path) -> list[tuple[str, str]]:
    """(key, text) of each header entry; a line indented by two or more spaces continues the one before."""
    entries: list[tuple[str, str]] = []
    for line in lines:
        if not line.strip():
            continue
        if line.startswith("  ") and entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}")
            continue
        key, separator, text = line.strip().partition(": ")
        if not separator:
            raise PerfcaseError("internal", f"{path}: a header line without 'key: text': {line.strip()}")
        entries.append((key, text.strip()))
    return entries


def in_dependency_order(views: Mapping[str, View]) -> dict[str, View]:
    """The views, each after those that it is made from: by its header, as to read 120 SELECTs takes half a second."""
    graph = {name: sorted(views.keys() & view.sources) for name, view in views.items()}
    try:
        return {name: views[name] for name in TopologicalSorter(graph).static_order()}
    except CycleError as error:
        raise PerfcaseError("internal", f"views refer to each other in a circle: {error.args[1]}") from error


def with_dependencies(views: Mapping[str, View], wanted: Iterable[str]) -> dict[str, View]:
    """Those of ``views`` (in dependency order) that are in ``wanted``, and what they are made from."""
    needed: set[str] = set()
    pending = [name for name in wanted if name in views]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += views.keys() & views[name].sources
    return {name: view for name, view in views.items() if name in needed}


def referenced_names(view: View) -> frozenset[str]:
    """The tables and views that the SELECT of a view reads."""
    return _names_of(view.sql, str(view.path))


def parsed(view: View) -> dict[str, Any]:
    """The SELECT of a view as DuckDB reads it."""
    return _tree(view.sql, str(view.path))


@cache
def parser() -> duckdb.DuckDBPyConnection:
    """A connection for reading SQL; it has no tables."""
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
    """The variables that a view reads, itself or by the views that it is made from."""
    needed = with_dependencies(views, [name]).values()
    return {found for view in needed for found in re.findall(r"getvariable\('(\w+)'\)", view.sql)}


def create_view(connection: duckdb.DuckDBPyConnection, view: View) -> None:
    """Creates a view with its comments, so that a stranger who opens the database reads them."""
    try:
        connection.execute(f"CREATE VIEW {quote(view.name)} AS {view.sql}")
        comment(connection, view.name, describe(view.description, view.grain, view.caveats), view.columns)
    except duckdb.Error as error:
        raise PerfcaseError("internal", f"{view.path}: {error}") from error


def describe(description: str, grain: str, caveats: Iterable[str] = ()) -> str:
    """The comment on a table or view, in one text."""
    return ". ".join(part.rstrip(".") for part in (description, f"One row is {_bare(grain)}", *caveats)) + "."


def _bare(grain: str) -> str:
    return re.sub(r"^one row is ", "", grain)


def comment(connection: duckdb.DuckDBPyConnection, name: str, text: str, columns: Iterable[Column]) -> None:
    """COMMENT ON VIEW and on these of its columns."""
    connection.execute(f"COMMENT ON VIEW {quote(name)} IS {literal(text)}")
    for column in columns:
        told = f"{column.description} [{column.unit}]" if column.unit else column.description
        connection.execute(f"COMMENT ON COLUMN {quote(name)}.{quote(column.name)} IS {literal(told)}")

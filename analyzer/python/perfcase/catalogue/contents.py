"""The catalogue: tables of case.duckdb about views: what their columns mean, which tables they need, who records these.

All of it is worked out from schema/ when the template of case.duckdb is made; ``table_rows`` looks at the capture.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from perfcase.catalogue.formula import formulas
from perfcase.catalogue.needs import Values, value_needs, view_needs
from perfcase.catalogue.rules import load_rules, rule_rows
from perfcase.catalogue.schema import (
    Column,
    Table,
    literal,
    load_catalogue,
    load_tables,
    package_data,
    quote,
    schema_dir,
)
from perfcase.catalogue.view import View
from perfcase.catalogue.views import comment, describe, load_views
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

VERSION = 8
"""Raise it when this module says other things than before of the same schema: then case.duckdb is written again."""

_VALUES = "perfcase.values."
"""What the names of such lists begin with in a file: crates/perfcase-import/src/writer/table.rs."""

Rows = list[dict[str, Any]]


def add(connection: duckdb.DuckDBPyConnection, files: str) -> None:
    """Add the catalogue to a database. ``files`` is SQL of the pattern of the capture's tables."""
    tables = load_catalogue()
    # What the ends of the files say.
    of_files = {
        "table_rows": "SELECT parse_filename(file_name, true) AS table_name, num_rows AS row_count"
        f" FROM parquet_file_metadata({files})",
        "column_values": "SELECT parse_filename(file_name, true) AS table_name,"
        f" substr(decode(key), {len(_VALUES) + 1}) AS column_name, string_split(decode(value), chr(10))[:-2] AS value_list"
        f" FROM parquet_kv_metadata({files}) WHERE starts_with(decode(key), {literal(_VALUES)})",
    }
    contents = {
        "definition": definitions(),
        "requirement": requirements(),
        "needed_value": needed_values(),
        "recording": recordings(),
        "finding_rule": rule_rows(),
    }
    for name, table in tables.items():
        if name in contents:
            fill(connection, table, contents[name])
        else:
            connection.execute(f"CREATE VIEW {quote(name)} AS {of_files[name]}")
        described = describe(table.description, table.grain)
        if name in contents:
            connection.execute(f"COMMENT ON TABLE {quote(name)} IS {literal(described)}")
        else:
            comment(connection, name, described, table.columns)


def fill(connection: duckdb.DuckDBPyConnection, table: Table, rows: Rows) -> None:
    """Create a table with these rows."""
    columns = ", ".join(f"{quote(column.name)} {column.sql_type}" for column in table.columns)
    shape = json.dumps([{column.name: column.sql_type for column in table.columns}])
    connection.execute(f"CREATE TABLE {quote(table.name)} ({columns})")
    connection.execute(
        f"INSERT INTO {quote(table.name)} SELECT unnest(from_json(?::JSON, ?), recursive := true)",
        [json.dumps(rows), shape],
    )


def definitions() -> Rows:
    """Return every column of every view and table."""
    needs = _base_tables()
    rows: Rows = []
    for view in load_views().values():
        written = formulas(view)
        made_from = ", ".join(sorted(needs[view.name]))
        caveat = ". ".join(text[:1].upper() + text[1:].rstrip(".") for text in view.caveats) or None
        rows += [
            {**row, "formula": written.get(row["column_name"]), "made_from": made_from, "caveat": caveat}
            for row in _columns(view, "view")
        ]
    for table in (*load_tables().values(), *load_catalogue().values()):
        rows += _columns(table, "table")
    return rows


def _columns(entry: View | Table, kind: str) -> Iterator[dict[str, Any]]:
    for position, column in enumerate(entry.columns, 1):
        yield {
            "view_name": entry.name,
            "kind": kind,
            "position": position,
            "column_name": column.name,
            "unit": column.unit or _unit(column),
            "definition": column.description,
            "formula": None,
            "grain": entry.grain.removeprefix("one row is "),
            "made_from": None,
            "caveat": None,
        }


def _unit(column: Column) -> str | None:
    return "count" if column.name.endswith("_count") else None


def _base_tables() -> dict[str, set[str]]:
    """Return the tables that each view is made from in the end, needed or not."""
    found: dict[str, set[str]] = {}
    for name, view in load_views().items():
        found[name] = {table for source in view.sources for table in found.get(source, {source})}
    return found


def requirements() -> Rows:
    """Return the tables without which a view has no rows, or a rule cannot fire; a table needs itself."""
    rows: Rows = []
    capture_tables = load_tables().keys()
    rules = load_rules()
    for name, alternatives in view_needs(load_views() | {name: rule.view() for name, rule in rules.items()}).items():
        kind = "finding" if name in rules else "view"
        for number, tables in enumerate(sorted(map(sorted, alternatives))):
            rows += [
                {"view_name": name, "kind": kind, "alternative": number, "table_name": table}
                for table in tables
                if table in capture_tables
            ]
    rows += [{"view_name": name, "kind": "table", "alternative": 0, "table_name": name} for name in capture_tables]
    return rows


def needed_values() -> Rows:
    """Return what views and rules need beyond the tables of ``requirements``: values in columns, and rows of tables that the importer makes."""
    rows: Rows = []
    capture_tables = load_tables()
    rules = {name: rule.view() for name, rule in load_rules().items()}
    for name, alternatives in value_needs(load_views() | rules).items():
        told = [
            [
                (each.table, each.column, sorted(each.values)) if isinstance(each, Values) else (each, None, [None])
                for each in one
                if isinstance(each, Values) or each in capture_tables
            ]
            for one in alternatives
        ]
        if not any(column or capture_tables[table].made_of for one in told for table, column, _ in one):
            continue
        # In one order in each process: that of a set is by chance.
        for number, one in enumerate(sorted((sorted(one, key=str) for one in told), key=str)):
            rows += [
                {"view_name": name, "alternative": number, "table_name": table, "column_name": column, "value": value}
                for table, column, values in one
                for value in values
            ]
    return rows


def recordings() -> Rows:
    """Return who records each table, and how: schema/recording.toml, and for tracepoints recorder/events.list."""
    path = schema_dir() / "recording.toml"
    try:
        rules = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise PerfcaseError("internal", f"{path}: cannot be read: {error}") from error
    events = default_events()
    rows: Rows = []
    for table in load_tables().values():
        rule = rules["table"].get(table.name)
        if not rule and is_tracepoint(table):
            rule = _of_tracepoint(table.name, events)
        rule = rule or rules["group"].get(table.group)
        if rule:
            rows += [{"table_name": table.name, "source": s, "how": rule["how"]} for s in rule["sources"]]
    for name, rule in rules.get("view", {}).items():
        rows += [{"table_name": name, "source": s, "how": rule["how"]} for s in rule["sources"]]
    return rows


def is_tracepoint(table: Table) -> bool:
    """Return whether the table holds one tracepoint's events."""
    return bool(tomllib.loads(table.path.read_text(encoding="utf-8")).get("tracepoint"))


class Recorded(NamedTuple):
    """What the recorder's list says of a tracepoint."""

    full: str
    """System and event."""
    group: str
    """The group that it is asked for with; empty if it is recorded by default."""
    rather: str
    """The event that is recorded instead where the kernel has it; empty if none is."""
    sources: list[str]


def default_events() -> dict[str, Recorded]:
    """Return tracepoints that the recorder knows, by the name of the event."""
    path = package_data("recorder") / "events.list"
    found: dict[str, Recorded] = {}
    lines = re.findall(r"^(perf|ftrace)[ \t]+(\S+)[ \t]*(\S*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    for tool, choice, group in lines:
        rather = ""
        for full in choice.split("|"):
            found.setdefault(full.partition(":")[2], Recorded(full, group, rather, [])).sources.append(tool)
            rather = rather or full
    return found


def _of_tracepoint(name: str, events: Mapping[str, Recorded]) -> dict[str, Any]:
    if name in events:
        full, group, rather, sources = events[name]
        asked = f"perfcase-record --with {group} takes {full}" if group else f"perfcase-record takes {full} by default"
        if rather:
            asked += f" where the kernel has no {rather}"
        how = f"{asked}, with tracefs; by hand: trace-cmd record -e {full}"
        return {"sources": sources, "how": how}
    how = (
        f"not recorded by default: a line 'ftrace SYSTEM:{name}' in the recorder's events.list, or by hand:"
        f" trace-cmd record -e {name}"
    )
    return {"sources": ["ftrace", "perf"], "how": how}

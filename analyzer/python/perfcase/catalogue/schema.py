"""The tables of a capture, as ``schema/tables/<group>/<table>.toml`` describes them (``schema/tables/README.md``)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from perfcase.errors import PerfcaseError

SCALAR_TYPES = {
    "i8": "TINYINT",
    "i16": "SMALLINT",
    "i32": "INTEGER",
    "i64": "BIGINT",
    "u8": "UTINYINT",
    "u16": "USMALLINT",
    "u32": "UINTEGER",
    "u64": "UBIGINT",
    "f64": "DOUBLE",
    "bool": "BOOLEAN",
    "text": "VARCHAR",
    "symbol": "VARCHAR",
    "bytes": "BLOB",
}
"""Types of the schema to types of DuckDB."""


@dataclass(frozen=True)
class Column:
    """A column of a table or view. ``type`` is the schema's; a view's columns have none."""

    name: str
    description: str
    unit: str | None = None
    type: str | None = None
    nullable: bool = True
    in_window: str | None = None
    """What a window makes of a table's column, a word or SQL; None: a time is moved, all else stays."""
    is_key: bool = False
    """Whether it says what every column of its name is."""

    @property
    def sql_type(self) -> str:
        """The DuckDB type of the column."""
        return sql_type(self.type or "text")


@dataclass(frozen=True)
class Events:
    """Events that a table counts, which a diff may divide by."""

    kind: str
    sql: str
    """Names and numbers (``name``, ``n``) of those that happened."""


@dataclass(frozen=True)
class Table:
    """A table of the schema: what one row is, and its columns."""

    name: str
    group: str
    description: str
    grain: str
    order: tuple[str, ...]
    columns: tuple[Column, ...]
    path: Path
    window: str
    """Which rows are in a window: a word or SQL."""
    ended: str | None = None
    """SQL: whether what the row tells of ended in the window."""
    made_of: tuple[str, ...] = ()
    """The tables whose rows the importer makes these from: any of them is enough."""
    named: tuple[str, ...] = ()
    """The columns that say what a row's key is called: a scope shows those of others, too."""
    events: tuple[Events, ...] = ()
    derived: str | None = None
    """SQL: how a part of a capture makes its rows, as the import makes those of the whole."""


def package_data(name: str) -> Path:
    """Return a folder that comes with the package: in a clone a link (``_schema``), in a wheel a copy (``_data/schema``)."""
    package = Path(__file__).parents[1]
    for folder in (package / f"_{name}", package / "_data" / name):
        if folder.is_dir():
            return folder
    raise PerfcaseError(
        "environment", f"{package}: the folder {name} is missing", "reinstall perfcase or run make setup"
    )


def schema_dir() -> Path:
    """Return the folder with the descriptions of tables and the views."""
    return package_data("schema")


def sql_type(name: str) -> str:
    """Return the DuckDB type for a type of the schema, such as ``u32`` or ``list<u64>``."""
    listed = re.fullmatch(r"list<(\w+)>", name)
    try:
        return SCALAR_TYPES[listed[1]] + "[]" if listed else SCALAR_TYPES[name]
    except KeyError:
        raise PerfcaseError("internal", f"the schema names an unknown type: {name}") from None


@cache
def load_tables(folder: Path | None = None) -> dict[str, Table]:
    """Return every table of the schema by name, sorted by group and name."""
    root = (folder or schema_dir()) / "tables"
    tables = {}
    for path in sorted(root.glob("*/*.toml")):
        table = parse_table(path)
        if table.name in tables:
            raise PerfcaseError("internal", f"{path}: the table {table.name} is described twice")
        tables[table.name] = table
    return tables


@cache
def load_catalogue() -> dict[str, Table]:
    """Return the tables about perfcase itself, by name: they are in case.duckdb and the same for all captures."""
    return {path.stem: parse_table(path) for path in sorted((schema_dir() / "catalogue").glob("*.toml"))}


@cache
def load_keys(folder: Path | None = None) -> dict[str, Column]:
    """Return by name the columns that say what every column of their name is: those with ``key = true`` in a table."""
    keys: dict[str, Column] = {}
    for path in sorted(((folder or schema_dir()) / "tables").glob("*/*.toml")):
        # Parsing all tables takes 30 ms of each start that shows a view's columns.
        if b"\nkey = true\n" not in path.read_bytes():
            continue
        for column in (column for column in _document(path)["column"] if column.get("key")):
            if column["name"] in keys:
                raise PerfcaseError("internal", f"{path}: the key {column['name']} has another home")
            keys[column["name"]] = _column(column, path)
    return keys


@cache
def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise PerfcaseError("internal", f"{path}: not a table description: {error}") from error


def _column(column: dict[str, Any], path: Path) -> Column:
    """Return a column of the table in this file. A key that it does not describe is as its home says."""
    description = column.get("description")
    return Column(
        name=column["name"],
        type=column["type"],
        unit=column.get("unit"),
        nullable=column.get("nullable", False),
        in_window=column.get("in_window"),
        is_key=column.get("key", False),
        description=load_keys(path.parents[2])[column["name"]].description if description is None else description,
    )


def parse_table(path: Path) -> Table:
    """Read one table description."""
    doc = _document(path)
    try:
        return Table(
            name=path.stem,
            group=path.parent.name,
            description=doc["description"],
            grain=doc["grain"],
            order=tuple(doc.get("order", ())),
            columns=tuple(_column(column, path) for column in doc["column"]),
            path=path,
            window=doc["window"],
            ended=doc.get("ended"),
            derived=doc.get("derived"),
            made_of=tuple(doc.get("made_of", ())),
            named=tuple(doc.get("named", ())),
            events=tuple(Events(**events) for events in doc.get("events", ())),
        )
    except (KeyError, TypeError) as error:
        raise PerfcaseError("internal", f"{path}: not a table description: {error}") from error


def quote(name: str) -> str:
    """Return a SQL identifier, quoted whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"

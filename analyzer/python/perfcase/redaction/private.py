"""Which private data a capture holds, from its tables."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Any

from perfcase.catalogue.privacy import EVENT_TEXT, load_privacy
from perfcase.lazy import duckdb

EXAMPLES_MAX = 3

STANDARD_GROUPS = frozenset({b"system.slice", b"user.slice", b"init.scope", b"machine.slice", b"-.slice", b"..", b""})
"""Parts of paths of control groups that every host has."""


@dataclass(frozen=True)
class Rules:
    """Which paths are private: those below these folders."""

    prefixes: tuple[bytes, ...] = (b"/home/", b"/root/")

    @property
    def paths(self) -> re.Pattern[bytes]:
        """What a private path looks like in any bytes. It ends where a path in a text ends."""
        heads = b"|".join(re.escape(prefix) for prefix in sorted(self.prefixes, key=len, reverse=True))
        return re.compile(rb"(" + heads + rb")([^\x00-\x20\"'<>|;,:()\[\]{}`]+)")


@dataclass
class Held:
    """The values of a class that a capture holds."""

    values: set[str] = field(default_factory=set)
    columns: list[str] = field(default_factory=list)


def private_data(connection: duckdb.DuckDBPyConnection, rules: Rules) -> dict[str, Held]:
    """Return by class what the tables of a capture hold."""
    held = {name: Held() for name in load_privacy().classes}
    for table, column, kind in columns(connection):
        name = load_privacy().class_of(table, column)
        if name is None:
            continue
        cell = f'"{column}"' if kind == "VARCHAR" else f'hex("{column}")'
        found = connection.sql(f'SELECT DISTINCT {cell} FROM "{table}" WHERE "{column}" IS NOT NULL').fetchall()
        values = {value for (value,) in found if is_private(name, value, rules)}
        if values:
            held[name].values |= values
            held[name].columns.append(f"{table}.{column}")
    return held


def columns(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    """Return the columns of tables of a capture that hold text or bytes: table, column, type."""
    return connection.sql(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() AS c WHERE NOT internal"
        " AND data_type IN ('VARCHAR', 'BLOB') AND table_name IN (SELECT table_name FROM table_rows)"
        " ORDER BY table_name, column_index"
    ).fetchall()


def is_private(name: str, value: Any, rules: Rules) -> bool:  # noqa: ANN401 - a cell
    """Whether a value of a column of that class is private: a path below a home is, ``/usr`` is not."""
    text = value.encode("utf-8", "surrogateescape")
    if name == "path":
        return bool(rules.paths.search(text))
    if name == "control_group":
        # A line of /proc/PID/cgroup has controllers before the path.
        return any(part not in STANDARD_GROUPS for part in re.sub(rb"^[^/]*:", b"", text).split(b"/"))
    if name == "argument":
        return len(text.split()) > 1
    if name == "address":
        return not _is_own(value)
    return bool(text)


def _is_own(address: str) -> bool:
    """Whether an address, with or without a port, is that of every host: loopback, or none."""
    for text in (address, address.rpartition(":")[0]):
        try:
            found = ipaddress.ip_address(text.strip("[]").removeprefix("::ffff:"))
        except ValueError:
            continue
        return found.is_loopback or found.is_unspecified
    return not set(address) - set("0.:*")


def rows(held: dict[str, Held]) -> list[dict[str, Any]]:
    """Return what is held as rows, a class each."""
    classes = load_privacy().classes.values()
    return [
        {
            "class": each.name,
            "title": each.title,
            "count": len(held[each.name].values),
            "examples": sorted(held[each.name].values, key=lambda value: (len(value), value))[-EXAMPLES_MAX:],
            "columns": held[each.name].columns,
        }
        for each in classes
        if each.columns or each.name == EVENT_TEXT
    ]

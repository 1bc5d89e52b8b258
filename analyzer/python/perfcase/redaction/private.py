"""Which private data a capture holds, from its tables."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from perfcase.case.inspection import inspect, redaction
from perfcase.catalogue.privacy import EVENT_TEXT, load_privacy, unredacted
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

EXAMPLES_MAX = 3
_BYTES_MAX = 16
"""Bytes that are shown of a value."""

STANDARD_GROUPS = frozenset({b"system.slice", b"user.slice", b"init.scope", b"machine.slice", b"-.slice", b"..", b""})
"""Parts of paths of control groups that every host has."""


_NO_PATH = rb"\x00-\x20\"'<>|;,:()\[\]{}`"
"""Signs that end a path in a text."""


@dataclass(frozen=True)
class Rules:
    """What is private besides what the classes say: what is below these folders, and these words."""

    prefixes: tuple[bytes, ...] = (b"/home/", b"/root/")
    words: tuple[bytes, ...] = ()
    public: tuple[bytes, ...] = ()
    """Folders whose objects have names of functions that are public."""

    @cached_property
    def paths(self) -> re.Pattern[bytes]:
        """What a private path looks like in any bytes. It ends where a path in a text ends."""
        return re.compile(rb"(" + self._heads(rb"[^/" + _NO_PATH + rb"]") + rb")([^" + _NO_PATH + rb"]+)")

    @cached_property
    def whole(self) -> re.Pattern[bytes]:
        """What one looks like that is the whole of a value, with any signs."""
        return re.compile(rb"\A(" + self._heads(rb"[^/]") + rb")(.+)\Z", re.DOTALL)

    def is_private_object(self, path: bytes) -> bool:
        """Whether the functions of an object are private: it is a file, and neither a rule nor the distribution says otherwise."""
        if not path.startswith(b"/") or path.startswith(self.public):
            return False
        privacy = load_privacy()
        is_of_distribution = path.startswith(privacy.public_folders) and not path.startswith(privacy.private_folders)
        return not is_of_distribution or self.whole.match(path) is not None

    def _heads(self, sign: bytes) -> bytes:
        """Return what stands before the private part. That begins with the first part that has a star."""
        heads = []
        for prefix in sorted(self.prefixes, key=len, reverse=True):
            fixed, star, rest = prefix.partition(b"*")
            head, _, begun = fixed.rpartition(b"/") if star else (fixed[:-1], b"/", b"")
            pattern = re.escape(begun + star + rest).replace(rb"\*", sign + b"*")
            heads.append(re.escape(head + b"/") + (b"(?=" + pattern + b")" if star else b""))
        return b"|".join(heads)


def read_rules(path: Path | None) -> Rules:
    """Read a file of rules.

    Raises:
        PerfcaseError: it cannot be read (not_found, not_permitted), a line is no rule (input).
    """
    rules = Rules()
    if path is None:
        return rules
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        raise PerfcaseError("not_found", f"{path}: no such file") from None
    except OSError as error:
        raise PerfcaseError("not_permitted", f"{path}: {error.strerror}") from None
    prefixes, words, public = list(rules.prefixes), [], []
    for number, line in enumerate(lines, 1):
        kind, _, value = line.strip().partition(b" ")
        value = value.strip()
        if not kind or kind.startswith(b"#"):
            continue
        if kind == b"path" and value.startswith(b"/") and value.strip(b"/*"):
            prefixes.append(value.rstrip(b"/") + b"/")
        elif kind == b"word" and len(value) > 2:
            words.append(value)
        elif kind == b"public" and value.startswith(b"/") and value.strip(b"/") and b"*" not in value:
            public.append(value.rstrip(b"/") + b"/")
        else:
            hint = (
                "write path /FOLDER (a star stands for any part), word TEXT with three bytes or more, or public /FOLDER"
            )
            raise PerfcaseError("input", f"{path}: line {number} is no rule", hint)
    return Rules(tuple(prefixes), tuple(words), tuple(public))


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
        cell = f'"{column}"' if kind == "VARCHAR" else _bytes(column) if name == "memory" else f'hex("{column}")'
        found = connection.sql(f'SELECT DISTINCT {cell} FROM "{table}" WHERE "{column}" IS NOT NULL').fetchall()
        values = {value for (value,) in found if is_private(name, value, rules)}
        if values:
            held[name].values |= values
            held[name].columns.append(f"{table}.{column}")
    return held


def _bytes(column: str) -> str:
    """Return SQL of what is shown of copies of memory, of which a recording can have gigabytes: all of a few bytes, the first of many."""
    short = f'octet_length("{column}") <= {_BYTES_MAX}'
    long = f"""hex("{column}"[:{_BYTES_MAX}]) || '… of ' || octet_length("{column}") || ' bytes, md5 ' || md5("{column}")"""
    return f'CASE WHEN {short} THEN hex("{column}") ELSE {long} END'


def public_values(connection: duckdb.DuckDBPyConnection, rules: Rules, functions: Set[str]) -> Iterator[str]:
    """Yield the values of public columns, and those of classed ones that are not private. ``functions`` are the private ones."""
    for table, column, kind in columns(connection):
        name = load_privacy().class_of(table, column)
        if kind != "VARCHAR" or name in ("mixed", "argument", "kernel_log", "note", "host_name"):
            continue
        found = connection.sql(f'SELECT DISTINCT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL').fetchall()
        for (value,) in found:
            if name == "symbol_name":
                is_public = value not in functions
            else:
                is_public = name is None or not is_private(name, value, rules)
            if is_public:
                yield value


def thread_names(connection: duckdb.DuckDBPyConnection) -> Iterator[bytes]:
    """Yield the names that threads had."""
    for (name,) in connection.sql("SELECT DISTINCT comm FROM thread_name WHERE comm <> ''").fetchall():
        yield name.encode("utf-8", "surrogateescape")


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


def warning(file: Path, connection: duckdb.DuckDBPyConnection) -> str | None:
    """Return what to say before a capture is sent that is not redacted; None: it is, or it holds nothing private."""
    manifest = _manifest(file)
    if redaction(manifest):
        return None
    held = private_data(connection, Rules())
    titles = [each.title for each in load_privacy().classes.values() if held[each.name].values]
    return unredacted(file.name, titles) if titles else None


def redacted(file: Path) -> dict[str, Any] | None:
    """Return what the manifest of a capture says of a redaction."""
    return redaction(_manifest(file))


def _manifest(file: Path) -> dict[str, Any] | None:
    return inspect(file)["manifest"] if file.is_file() else None


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

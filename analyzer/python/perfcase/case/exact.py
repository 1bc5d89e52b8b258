"""Types of SQL that do not get through Python or Arrow as they are, and what they travel as."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perfcase.catalogue.schema import quote

Kind = Any
"""A type of a column, as DuckDB describes it: ``id``, ``children``, its SQL by ``str``."""

IN_PYTHON = dict.fromkeys(
    ("timestamp with time zone", "timestamptz_ns", "timestamp_ns", "time_ns", "time with time zone", "interval"),
    "VARCHAR",
)
"""As text: Python has no months and no nanoseconds, and DuckDB asks for a package of time zones that is not needed otherwise."""

IN_ARROW = {
    "enum": "VARCHAR",
    "bit": "VARCHAR",
    "time with time zone": "VARCHAR",
    "hugeint": "DECIMAL(38,0)",
    "uhugeint": "DECIMAL(38,0)",
}
"""Arrow would make dictionaries of the first and bytes of the second, lose a zone, and overflow where this is an error."""

IN_TRANSIT = dict.fromkeys(("enum", "bit", "time with time zone", "hugeint", "uhugeint"), "VARCHAR")
"""By Arrow from one DuckDB to another, where ``AFTER_TRANSIT`` makes of all but enumerations what they were."""
AFTER_TRANSIT = {"enum": "VARCHAR"}


def changed(kind: Kind, changes: Mapping[str, str]) -> str | None:
    """Return a type in SQL with other types in it; None where it stays as it is."""
    if kind.id in changes:
        return changes[kind.id]
    if kind.id in ("list", "array"):
        parts = dict(kind.children)
        inner = changed(parts["child"], changes)
        return inner and f"{inner}[{parts['size'] if kind.id == 'array' else ''}]"
    if kind.id in ("struct", "map"):
        inner_ones = [changed(part, changes) for _, part in kind.children]
        if not any(inner_ones):
            return None
        parts = [inner or str(part) for inner, (_, part) in zip(inner_ones, kind.children, strict=True)]
        if kind.id == "map":
            return f"MAP({', '.join(parts)})"
        named = (f"{quote(name)} {part}" for (name, _), part in zip(kind.children, parts, strict=True))
        return f"STRUCT({', '.join(named)})"
    return None


def select(sql: str, names: Sequence[str], kinds: Sequence[Kind], of: Callable[[Kind], str | None]) -> str | None:
    """Return ``sql`` with its columns cast to what ``of`` says; None where none is. Two columns may have the same name."""
    types = [of(kind) for kind in kinds]
    if not any(types):
        return None
    columns = (
        f"c{at}{f'::{new}' if new else ''} AS {quote(name)}"
        for at, (name, new) in enumerate(zip(names, types, strict=True))
    )
    places = ", ".join(f"c{at}" for at in range(len(names)))
    return f"SELECT {', '.join(columns)} FROM ({sql}\n) AS answer({places})"

"""A view: one ``schema/views/<group>/<view>.sql``, a header of comments and one SELECT.

The header is the documentation, and a test holds it to what DuckDB says of the view:

    -- thread_time: how long each thread ran, waited for a CPU and slept
    -- grain: a thread
    -- source: thread_state, thread
    -- caveat: what a reader must know; may be repeated, and continued on indented comment lines
    -- diff by: comm                         and more: how two captures are compared (perfcase.catalogue.declared)
    -- plot: how a terminal shows it, where the columns' names do not say it (perfcase.catalogue.plot)
    -- column utid: the capture's own thread key
    -- column on_cpu_ns [ns]: time on a CPU
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perfcase.catalogue import declared
from perfcase.catalogue.declared import Declared
from perfcase.catalogue.kit import expand
from perfcase.catalogue.schema import Column
from perfcase.errors import PerfcaseError

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


def parse_view(path: Path) -> View:
    """Read one view file."""
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
        sql=expand(body.strip().rstrip(";").strip(), str(path)),
        path=path,
        plot=single["plot"],
        diff=compared,
        not_compared=single["diff no"],
    )


def split_names(text: str) -> tuple[str, ...]:
    """Return the names of a header entry, which stand between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def split_header(text: str) -> tuple[list[str], str]:
    """Return the comment lines that a view file begins with (without the dashes), and the rest."""
    lines = text.splitlines()
    end = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return [line[2:] for line in lines[:end]], "\n".join(lines[end:])


def header_entries(lines: Iterable[str], path: Path) -> list[tuple[str, str]]:
    """Return (key, text) of each header entry; a line indented by two or more spaces continues the one before."""
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

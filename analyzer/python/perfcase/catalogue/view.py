"""A view: one ``schema/views/<group>/<view>.sql``, a header of comments and one SELECT.

The header is the documentation, and a test holds it to what DuckDB says of the view:

    -- thread_time: how long each thread ran, waited for a CPU and slept
    -- grain: a thread
    -- source: thread_state, thread
    -- caveat: what a reader must know; may be repeated, and continued on indented comment lines
    -- diff by: comm                         and more: how two captures are compared (perfcase.catalogue.declared)
    -- plot: how it is drawn, where the columns' names do not say it (perfcase.catalogue.plot)
    -- chart timeline 3: Disks: …            and more: which charts of the server's page show it (perfcase.catalogue.charts)
    -- keys: utid, tid                       columns that mean the same everywhere: the home of each is a table's column with key = true
    -- as in thread: comm                    columns that a table or view of its source describes
    -- column on_cpu_ns [ns]: time on a CPU

Its columns are in the order of the SELECT. What stands elsewhere is read when somebody wants to know it: a start needs no tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from perfcase.catalogue import declared
from perfcase.catalogue.declared import Declared
from perfcase.catalogue.kit import expand
from perfcase.catalogue.schema import Column, Table, load_keys, parse_table
from perfcase.errors import PerfcaseError

_COLUMN = re.compile(r"column (?P<name>\w+)(?: \[(?P<unit>[^\]]+)\])?$")
_LIST = re.compile(r"keys|as in (?P<source>\w+)")


@dataclass(frozen=True)
class Elsewhere:
    """A column of a view that something else describes: a table or view, or without one the home of a key."""

    name: str
    source: str | None


@dataclass(frozen=True)
class View:
    """A view: its documentation and its SELECT."""

    name: str
    group: str
    description: str
    grain: str
    sources: tuple[str, ...]
    caveats: tuple[str, ...]
    header: tuple[Column | Elsewhere, ...]
    """Its columns as its file has them."""
    sql: str
    path: Path
    plot: str = ""
    charts: tuple[tuple[str, str], ...] = ()
    """The header's lines about charts, each as its key and its text."""
    diff: Declared | None = None
    not_compared: str = ""
    """Why two captures are not compared in it."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Its columns with what they mean. A PerfcaseError says which of them nothing describes."""
        return tuple(self._described(each) if isinstance(each, Elsewhere) else each for each in self.header)

    def _described(self, column: Elsewhere) -> Column:
        schema = self.path.parents[2]
        columns = load_keys(schema) if column.source is None else _columns_of(schema, column.source)
        if column.name not in columns:
            where = "no table has the key" if column.source is None else f"{column.source} has no column"
            raise PerfcaseError("internal", f"{self.path}: {where} {column.name}")
        found = columns[column.name]
        return Column(column.name, _phrase(found.description), found.unit)


def parse_view(path: Path) -> View:
    """Read one view file."""
    header, body = split_header(path.read_text(encoding="utf-8"))
    entries = header_entries(header, path)
    if not entries or entries[0][0] != path.stem:
        raise PerfcaseError("internal", f"{path}: the header must begin with '-- {path.stem}: what it is'")
    single = {"grain": "", "source": "", "plot": "", "diff no": ""}
    caveats: list[str] = []
    columns: list[Column | Elsewhere] = []
    charts: list[tuple[str, str]] = []
    diff: dict[str, str] = {}
    for key, text in entries[1:]:
        column = _COLUMN.match(key)
        if column:
            columns.append(Column(column["name"], text, column["unit"]))
        elif listed := _LIST.fullmatch(key):
            columns += [Elsewhere(name, listed["source"]) for name in split_names(text)]
        elif key == "caveat":
            caveats.append(text)
        elif key.startswith("chart "):
            charts.append((key, text))
        elif declared.is_entry(key) and key not in diff:
            diff[key] = text
        elif key in single and not single[key]:
            single[key] = text
        else:
            raise PerfcaseError("internal", f"{path}: the header has an unknown or repeated entry '{key}'")
    sources = split_names(single["source"])
    strange = {each.source for each in columns if isinstance(each, Elsewhere)} - {None, *sources}
    if strange:
        raise PerfcaseError(
            "internal", f"{path}: columns as in {', '.join(map(str, strange))}, which is no source of it"
        )
    try:
        compared = declared.parse(diff, [column.name for column in columns])
    except ValueError as error:
        raise PerfcaseError("internal", f"{path}: {error}") from error
    return View(
        name=path.stem,
        group=path.parent.name,
        description=entries[0][1],
        grain=single["grain"],
        sources=sources,
        caveats=tuple(caveats),
        header=tuple(columns),
        sql=expand(body.strip().rstrip(";").strip(), str(path)),
        path=path,
        plot=single["plot"],
        charts=tuple(charts),
        diff=compared,
        not_compared=single["diff no"],
    )


@cache
def _columns_of(schema: Path, name: str) -> dict[str, Column]:
    path = _files(schema).get(name, schema / name)
    entry: View | Table = parse_view(path) if path.suffix == ".sql" else parse_table(path)
    return {column.name: column for column in entry.columns}


@cache
def _files(schema: Path) -> dict[str, Path]:
    """Return the files of tables and views, by their names."""
    found = (
        path for pattern in ("tables/*/*.toml", "catalogue/*.toml", "views/*/*.sql") for path in schema.glob(pattern)
    )
    return {path.stem: path for path in found}


def _phrase(text: str) -> str:
    """Return the sentence of a table's column as views have theirs: part of a sentence."""
    return (text[:1].lower() if text[1:2].islower() else text[:1]) + text[1:].removesuffix(".")


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

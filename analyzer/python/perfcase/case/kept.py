"""What an imported folder keeps of what was asked of the whole of it: ``kept/<version>-<name>``.

The findings are made of all rules, which read nearly all views, and the report and a diff read half of the views: to work them out takes
longer than all else about a capture. So the first query, or the import, keeps them for the next. A part of a capture, or another parameter of a view,
has answers of its own: they are worked out each time. A folder that may not be written, or a disk that is full, keeps nothing.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import perfcase
from perfcase.case import query
from perfcase.case.database import views_hash
from perfcase.case.sharing import FINDINGS, forget, made, share, share_findings
from perfcase.case.sharing import types as types_of
from perfcase.case.wholeness import KEPT, Tables, tables_in
from perfcase.catalogue.rules import SEVERITIES
from perfcase.catalogue.schema import literal, quote
from perfcase.catalogue.views import load_views, parameters, view_files
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

SIZE_MAX = 8 << 20
"""Bytes of a value: of more, to read it takes as long as to ask."""
_ROWS_MAX = 100_000
"""Rows of a view that is kept."""
FEW_ROWS_MAX = 10_000
"""Rows of a view that is kept for histories alone."""
FEW_SIZE_MAX = 256 << 10
"""Bytes of its file."""
_MADE_BY = (
    "case/coverage.py",
    "case/exact.py",
    "case/span.py",
    "case/window.py",
    "diff/collect.py",
    "diff/compare.py",
    "diff/rank.py",
    "fleet/metric.py",
    "fleet/compared.py",
)
"""The modules that what is kept depends on, besides schema/."""
_WORKING = ".working-"
Types = Mapping[str, Mapping[str, str]]
"""By view and column."""


@dataclass(frozen=True)
class Kept:
    """What is kept of the tables that a folder had when this was made."""

    folder: Path
    version: str

    def path(self, name: str) -> Path:
        """Return where a file of this name is kept."""
        return Path(self._place(name))

    def size_bytes(self, name: str) -> int | None:
        """Return the size of the file that is kept under this name; None if there is none: a pipe or device at this path is no file."""
        try:
            found = self.path(name).stat()
        except (OSError, ValueError):
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def has(self, name: str) -> bool:
        """Return whether a file of this name is kept."""
        return self.size_bytes(name) is not None

    def _place(self, name: str) -> str:
        # As text: a history looks at some files of each of a thousand captures, and paths are put together slowly.
        return f"{self.folder}/{KEPT}/{self.version}-{name}"

    def parquet(self, view: str) -> str:
        """Return the pattern of the file with the rows of a view."""
        return glob.escape(self._place(f"{view}.parquet"))

    def recall(self, name: str) -> Any:  # noqa: ANN401 - as JSON has it
        """Return the value that is kept under this name; None where there is none, or one that cannot be read."""
        if not self.has(f"{name}.json"):
            return None
        try:
            with self.path(f"{name}.json").open("rb") as file:
                return json.loads(file.read(SIZE_MAX))
        except (OSError, ValueError, RecursionError):
            return None

    def remember(self, name: str, value: object) -> None:
        """Keep a value that JSON can say."""
        self.remember_all({name: value})

    def remember_all(self, values: Mapping[str, object]) -> None:
        """Keep several, by their names."""
        texts = {f"{name}.json": json.dumps(value) for name, value in values.items()}
        self.write({name: text.encode() for name, text in texts.items()})

    def write(self, files: Mapping[str, bytes]) -> None:
        """Keep files, by their names."""
        short = {name: data for name, data in files.items() if len(data) <= SIZE_MAX}
        if not short:
            return
        with suppress(OSError), self.replacing() as working:
            for name, data in short.items():
                (working / name).write_bytes(data)

    @contextmanager
    def replacing(self) -> Iterator[Path]:
        """Provide a folder for files, which then take the places of those of their names of all versions.

        Raises:
            OSError: nothing can be kept there, or the tables are others by now.
        """
        place = self.folder / KEPT
        # An untrusted folder may have a link here. Its target is not ours.
        if place.is_symlink() or not os.access(self.folder, os.W_OK):
            raise PermissionError(str(place))
        place.mkdir(exist_ok=True)
        # Those of processes that were killed. One that is at work elsewhere, in another container, then keeps nothing.
        for stale in place.glob(f"{_WORKING}*"):
            if not Path("/proc", stale.name.split("-")[1]).exists():
                shutil.rmtree(stale, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=place, prefix=f"{_WORKING}{os.getpid()}-") as working:
            yield Path(working)
            if _version(self.folder) != self.version:
                raise FileNotFoundError(str(self.folder))
            for made in [*Path(working).iterdir()]:
                for old in place.glob(f"*-{made.name}"):
                    old.unlink(missing_ok=True)
                made.replace(self.path(made.name))


def kept_of(connection: duckdb.DuckDBPyConnection, views: Iterable[str]) -> Kept | None:
    """Return what is kept of these views, if the connection sees all of a folder and no parameter is set that they have.

    To be asked before what is to be kept is worked out.
    """
    folder = query.whole(connection)
    if not folder:
        return None
    names = {name for view in views for name in _parameters(view)}
    asked = " AND ".join(["true", *(f"getvariable({literal(name)}) IS NULL" for name in sorted(names))])
    ((is_default,),) = connection.execute(f"SELECT {asked}").fetchall()
    return kept_of_all(folder) if is_default else None


def kept_of_all(folder: Path, tables: Tables | None = None) -> Kept:
    """Return what an imported folder keeps, for queries on the whole folder with default parameters. ``tables``: as they were found just now.

    Raises:
        OSError: its tables cannot be listed.
    """
    return Kept(folder, _version(folder, tables))


@cache
def _parameters(view: str) -> frozenset[str]:
    return frozenset(parameters(load_views(), view))


def _version(folder: Path, tables: Tables | None = None) -> str:
    """Return a hash of the tables and of the code that uses them."""
    found = sorted((tables or tables_in(folder)).items())
    return hashlib.sha256(f"{_code_hash()} {found}".encode()).hexdigest()[:32]


@cache
def _code_hash() -> str:
    digest = hashlib.sha256(views_hash().encode())
    for module in _MADE_BY:
        digest.update((Path(perfcase.__file__).parent / module).read_bytes())
    return digest.hexdigest()


def have_findings(connection: duckdb.DuckDBPyConnection, later: Iterable[str] = ()) -> list[PerfcaseError]:
    """Prepare the views of the findings for queries: from the cache, else as temporary tables. ``later``: as in ``share_findings``.

    Return why rules could not be worked out, which are then not judged. Findings that lack some are not kept.
    """
    kept = kept_of(connection, FINDINGS)
    # What fired and what could be judged are of one working out: both or none.
    if kept and all(kept.has(f"{view}.parquet") for view in FINDINGS):
        types = types_of(connection)
        if all(_show(connection, kept, view, types) for view in FINDINGS):
            return []
        for view in FINDINGS:
            connection.execute(f"DROP TABLE IF EXISTS temp.{quote(view)}")
    try:
        failures = share_findings(connection, later)
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        # The query for the findings reports it, too.
        return [query.sql_error(error)]
    if kept and not failures:
        with suppress(OSError, duckdb.Error):
            _keep(connection, kept, FINDINGS)
    return failures


def have_views(connection: duckdb.DuckDBPyConnection, views: Iterable[str]) -> None:
    """Prepare views for queries: from the cache, else as temporary tables, each worked out once; the cache then has those of
    few rows. A view that cannot be worked out is left to its reader, who says so."""
    kept = kept_of(connection, views)
    there = [view for view in views if kept and kept.has(f"{view}.parquet")]
    types = types_of(connection) if there else {}
    shown = {view for view in there if kept and _show(connection, kept, view, types)}
    new = [view for view in views if view not in shown]
    _make_views(connection, kept, new)


def _make_views(connection: duckdb.DuckDBPyConnection, kept: Kept | None, new: Sequence[str]) -> None:
    # Twice: what is asked for once would stay a view.
    share(connection, [*new, *new])
    if kept and new:
        with suppress(OSError, duckdb.Error):
            short = _short(connection)
            _keep(connection, kept, [view for view in new if view in short])


def have_views_again(connection: duckdb.DuckDBPyConnection, views: Sequence[str]) -> bool:
    """Work out views that ``have_views`` may have taken from the cache, and put them there. Return False for a part of a capture: it has no
    cache."""
    kept = kept_of(connection, views)
    if not kept:
        return False
    forget(connection, is_all=True)
    _make_views(connection, kept, views)
    return True


def recall_view(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    """Prepare one view for queries, if the cache has it."""
    folder = query.whole(connection)
    if folder and view in view_files() and any((folder / KEPT).glob(f"*-{view}.parquet")):
        recall_views(connection, [view])


def recall_named(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Prepare the views that a query names, if the cache has them; the findings in any case: all rules in one plan need much memory.

    Raises:
        PerfcaseError: what is kept of the findings is damaged, and a rule cannot be worked out (sql).
    """
    folder = query.whole(connection)
    if not folder:
        return
    files = {path.stem.partition("-")[2] for path in (folder / KEPT).glob("*.parquet")}
    named = files.intersection(re.findall(r"\w+", sql))
    if re.search(rf"\b(?:{'|'.join(FINDINGS)})\b", sql, re.IGNORECASE):
        failures = have_findings(connection)
        if failures:
            raise failures[0]
    for view in sorted(named.intersection(load_views()).difference(FINDINGS)):
        recall_view(connection, view)


def recall_views(connection: duckdb.DuckDBPyConnection, views: Iterable[str]) -> None:
    """Prepare those of the views for queries that the cache has."""
    kept = kept_of(connection, views)
    types = types_of(connection) if kept else {}
    for view in views:
        if kept and kept.has(f"{view}.parquet"):
            _show(connection, kept, view, types)


def _show(connection: duckdb.DuckDBPyConnection, kept: Kept, view: str, types: Types) -> bool:
    """Put what is kept before the view of the same name. Return whether it can be read as what the view has."""
    names = [column.name for column in load_views()[view].columns]
    kinds = types.get(view, {})
    if any(name not in kinds for name in names):
        return False
    # The file of a stranger may have other types.
    columns = ", ".join(f"{quote(name)}::{kinds[name]} AS {quote(name)}" for name in names)
    rows = f"SELECT {columns} FROM read_parquet({literal(kept.parquet(view))})"
    try:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(view)} AS {rows}").fetchall()
        if connection.execute(f"SELECT 1 FROM temp.{quote(view)} WHERE {impossible(view, names)} LIMIT 1").fetchall():
            connection.execute(f"DROP TABLE temp.{quote(view)}").fetchall()
            return False
    except duckdb.Error as error:
        if isinstance(error, duckdb.InterruptException):
            raise
        return False
    return True


def impossible(view: str, columns: Iterable[str]) -> str:
    """Return the condition of the rows that the view cannot have: of nothing but NULL, or findings that no rule makes."""
    nothing = " AND ".join(f"{quote(name)} IS NULL" for name in columns)
    if view != "finding":
        return nothing
    severities = ", ".join(map(literal, SEVERITIES))
    return f"(severity IN ({severities}) AND (finding || subject || message || title) IS NOT NULL) IS NOT TRUE"


def in_parquet(kind: str) -> str:
    """Return the type that a column of a view has in its file. Parquet has no integers of 128 bits, and DuckDB would make fractions of them."""
    return "DECIMAL(38,0)" if kind in ("HUGEINT", "UHUGEINT") else kind


def in_file(name: str, kind: str) -> list[tuple[str, str]]:
    """Return what DuckDB says of such a column in a file: a list has parts."""
    kind = in_parquet(kind)
    return [(name, kind)] + ([("list", kind), ("element", kind.removesuffix("[]"))] if kind.endswith("[]") else [])


def _short(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the views that were worked out, and whose rows are worth a file."""
    return {name for name, rows in made(connection).items() if rows <= _ROWS_MAX}


def keep_few(connection: duckdb.DuckDBPyConnection, kept: Kept) -> None:
    """Keep what was worked out for histories: the rows of views that have some, and few. The findings are kept when all their rules are judged."""
    few = {name for name, rows in made(connection).items() if 0 < rows <= FEW_ROWS_MAX}
    views = [name for name in load_views() if name in few.difference(FINDINGS) and not kept.has(f"{name}.parquet")]
    with suppress(OSError, duckdb.Error):
        _keep(connection, kept, views, FEW_SIZE_MAX)


def _keep(connection: duckdb.DuckDBPyConnection, kept: Kept, views: Sequence[str], size_max: float = math.inf) -> None:
    types = types_of(connection)
    with kept.replacing() as working:
        for view in views:
            path = working / f"{view}.parquet"
            columns = ", ".join(
                f"{quote(name)}::{in_parquet(kind)} AS {quote(name)}" for name, kind in types[view].items()
            )
            copied = f"COPY (SELECT {columns} FROM {quote(view)}) TO {literal(str(path))}"
            connection.execute(f"{copied} (FORMAT parquet, COMPRESSION zstd)").fetchall()
            if path.stat().st_size > size_max:
                path.unlink()

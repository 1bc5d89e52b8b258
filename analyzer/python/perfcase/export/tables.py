"""All tables and views as files, for whatever reads CSV or Parquet: ``tables/<name>`` and ``views/<name>`` in a folder."""

from __future__ import annotations

import re
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from perfcase.case.query import Result
from perfcase.case.sharing import share
from perfcase.catalogue.schema import load_tables, quote
from perfcase.catalogue.views import load_views, parameters
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.terminal.render import write_result

EXPANDED = ("call_path", "callees", "callers")
"""Views that list every path from every function: many times the size of all others. They are written when named."""


def write_tar(
    connection: duckdb.DuckDBPyConnection,
    fmt: str,
    out: BinaryIO,
    wanted: Sequence[str] = (),
    progress: Callable[[str, int], None] = lambda _name, _number: None,
) -> list[str]:
    """Return the same files as a tar archive that is written as it is made: no more than one of them is on the disk at a time."""
    with tempfile.TemporaryDirectory() as working, tarfile.open(fileobj=out, mode="w|") as archive:

        def add(path: Path) -> None:
            member = tarfile.TarInfo(str(path.relative_to(working)))
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                archive.addfile(member, file)
            path.unlink()

        return write_tables(connection, fmt, Path(working), wanted, progress, add)


def write_tables(
    connection: duckdb.DuckDBPyConnection,
    fmt: str,
    folder: Path,
    wanted: Sequence[str] = (),
    progress: Callable[[str, int], None] = lambda _name, _number: None,
    written: Callable[[Path], None] = lambda _path: None,
) -> list[str]:
    """Write every table and view, or those that are wanted, into ``folder``. Return what is left out and why, in words.

    ``written`` is called with each file when it is whole.

    A Parquet file has the views' types. CSV has none: lists are JSON, unknown is an empty field.
    """
    known = [row[0] for row in connection.execute(
        "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY view_name"
    ).fetchall()]  # fmt: skip
    chosen = list(wanted) or [name for name in known if name not in EXPANDED]
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise PerfcaseError("not_found", f"there is no view {unknown[0]}", "perfcase views lists them")
    views = load_views()
    share(connection, [name for name in chosen if name in views])
    lost = []
    if fmt == "csv":
        lost.append("types of columns: CSV has none; unknown is an empty field, lists are JSON")
    for number, name in enumerate(chosen):
        # Tracepoints are named by captures.
        if not re.fullmatch(r"\w+", name):
            lost.append(f"{name}: no name of a file")
            continue
        progress(name, number)
        place = folder / ("views" if name in views else "tables")
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PerfcaseError("environment", f"{place}: cannot be written: {error.strerror}") from error
        write_result(Result(connection, f"SELECT * FROM {quote(name)}"), fmt, place / f"{name}.{fmt}", limited=True)
        written(place / f"{name}.{fmt}")
    if not wanted:
        lost.append(
            f"{', '.join(EXPANDED)}: every path from every function, many times the size of the rest; --view writes them"
        )
    bound = [name for name in chosen if name in views and parameters(views, name)]
    if bound:
        lost.append(f"views with parameters at other values than their defaults: {', '.join(sorted(bound))}")
    missing = [] if wanted else sorted(set(load_tables()) - set(known))
    if missing:
        lost.append(f"tables that this case does not have: {', '.join(missing)}")
    return lost

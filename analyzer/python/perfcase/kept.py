"""What an imported folder keeps of what was asked of the whole of it: ``kept/<version of the rules>-<view>.parquet``.

The findings are made of all rules, which read nearly all views: to work them out takes longer than all else that a report says.
So who asks first keeps them for who asks next. A part of a capture, or another parameter of a view, has findings of its own: they are
worked out each time. A folder that may not be written, or a disk that is full, keeps nothing.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from perfcase import query
from perfcase.casedb import views_hash
from perfcase.lazy import duckdb
from perfcase.schema import literal, quote
from perfcase.sharing import FINDINGS, share
from perfcase.views import load_views, parameters
from perfcase.wholeness import KEPT


def have_findings(connection: duckdb.DuckDBPyConnection) -> None:
    """Has the views of the findings at hand for the questions to come: kept, else as tables of what they are made from."""
    folder = _whole(connection)
    if folder and _show(connection, folder):
        return
    share(connection, FINDINGS)
    # A rule that fails is told by who asks for the findings.
    with suppress(OSError, duckdb.Error):
        if folder and _keep(connection, folder):
            _show(connection, folder)


def _whole(connection: duckdb.DuckDBPyConnection) -> Path | None:
    """The imported folder, if the connection sees all of it and no parameter is set that the findings depend on."""
    folder = query.whole(connection)
    names = {name for view in FINDINGS for name in parameters(load_views(), view)}
    asked = ", ".join(f"getvariable({literal(name)}) IS NULL" for name in sorted(names))
    ((is_default,),) = connection.execute(f"SELECT list_bool_and([{asked}])").fetchall()
    return folder if is_default else None


def _show(connection: duckdb.DuckDBPyConnection, folder: Path) -> bool:
    """Puts what is kept before the views of the same names; whether all of it is there and can be read."""
    try:
        for view in FINDINGS:
            path = literal(str(_path(folder, view)))
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {quote(view)} AS FROM read_parquet({path})").fetchall()
    except duckdb.Error as error:
        if isinstance(error, duckdb.InterruptException):
            raise
        for view in FINDINGS:
            connection.execute(f"DROP TABLE IF EXISTS temp.{quote(view)}")
        return False
    return True


def _keep(connection: duckdb.DuckDBPyConnection, folder: Path) -> bool:
    place = folder / KEPT
    # A stranger's folder may have a link there: what lies behind it is not ours.
    if not os.access(folder, os.W_OK) or place.is_symlink():
        return False
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as working, duckdb.connect() as writer:
        for view in FINDINGS:
            writer.register("answer", query.ArrowStream(connection.sql(f"FROM {quote(view)}")))
            path = Path(working) / _path(folder, view).name
            writer.execute(f"COPY (FROM answer) TO {literal(str(path))} (FORMAT parquet)")
            writer.unregister("answer")
        for path in place.glob("*.parquet"):
            path.unlink(missing_ok=True)
        for view in FINDINGS:
            path = _path(folder, view)
            (Path(working) / path.name).replace(path)
    return True


def _path(folder: Path, view: str) -> Path:
    return folder / KEPT / f"{views_hash()}-{view}.parquet"

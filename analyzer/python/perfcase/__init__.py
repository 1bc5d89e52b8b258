"""perfcase: an offline Linux performance analyzer.

A capture (``x.perfcase``, a bare ``perf.data`` or ``trace.dat``, a recorder's folder) is imported once into
plain Parquet tables; every answer is a SQL view over them.

For Python: ``perfcase.open(file)`` is a capture, which is also a DuckDB connection; ``perfcase.history(folder)`` is about many,
``perfcase.Client(url, token)`` is a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from perfcase.operations.capture import Case
    from perfcase.server_client.client import Client

__all__ = ["Case", "Client", "history", "open"]


def open(  # noqa: A001 - as perfcase.open
    file: str | PathLike[str], *, only: Sequence[str] = (), debug_dirs: Sequence[str | PathLike[str]] = ()
) -> Case:
    """Open a capture, a file or its URL. Import it first if necessary. It has the methods of a read-only DuckDB connection to its tables and views, and
    ``findings``, ``diff`` and the other operations.

    ``only`` is a part of it, as with ``--only``: ``["window=10s..20s", "process=java"]``. ``sql`` and ``table``
    return relations with ``df()`` (pandas), ``pl()`` (polars), ``fetchall()`` and Arrow.

    >>> perfcase.open("incident.perfcase").table("thread_time").order("on_cpu_ns DESC").df()
    >>> perfcase.open("bad.perfcase").findings().df()

    Raises:
        PerfcaseError: there is no such file (not_found), or it cannot be read (input).
    """
    from perfcase.case.opening import open_capture
    from perfcase.operations.capture import Case

    return Case(open_capture(file, only=only, debug_dirs=debug_dirs))


def history(stores: str | PathLike[str] | Sequence[str | PathLike[str]], **asked: object) -> duckdb.DuckDBPyRelation:
    """Follow one figure over all captures below one or several folders or URLs, ordered by time. Without a view, list the captures.

    ``asked`` are fields of ``perfcase.operations.history.Request``: view, measure, where, agg, by, only, baseline, bands, limit.

    >>> perfcase.history("incidents/", view="pmcarch", measure="ipc", by="host").df()

    Raises:
        PerfcaseError: there is no folder (usage), or as ``perfcase.operations.history.run``.
    """
    from perfcase.errors import PerfcaseError
    from perfcase.operations.history import Request, run

    places = [stores] if isinstance(stores, (str, PathLike)) else stores
    if not places:
        raise PerfcaseError("usage", "history needs a folder with captures")
    from perfcase.case.remote import is_url

    return run(Request(**asked), [place if is_url(place) else Path(place) for place in places]).relation()


def __getattr__(name: str) -> object:
    # Loaded when it is asked for: commands do not need it.
    if name == "Client":
        from perfcase.server_client.client import Client

        return Client
    if name == "Case":
        from perfcase.operations.capture import Case

        return Case
    if name == "__version__":
        from perfcase.case.store import import_core

        return import_core().__version__
    raise AttributeError(f"module 'perfcase' has no attribute {name!r}")

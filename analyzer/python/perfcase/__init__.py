"""perfcase: an offline Linux performance analyzer.

A capture (``x.perfcase``, a bare ``perf.data`` or ``trace.dat``, a recorder's folder) is imported once into
plain Parquet tables; every answer is a SQL view over them.

For Python: ``perfcase.open(file)`` is a capture as a DuckDB connection, ``perfcase.Client(url, token)`` a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from perfcase.server_client.client import Client

__all__ = ["Client", "open"]


def open(  # noqa: A001 - as perfcase.open
    file: str | PathLike[str], *, only: Sequence[str] = (), debug_dirs: Sequence[str | PathLike[str]] = ()
) -> duckdb.DuckDBPyConnection:
    """Return the tables and views of a capture as a read-only DuckDB connection. Import the capture first if necessary.

    ``only`` is a part of it, as with ``--only``: ``["window=10s..20s", "process=java"]``. What ``sql`` and ``table`` of the
    connection give has ``df()`` (pandas), ``pl()`` (polars), ``fetchall()``, and hands itself to whatever reads Arrow.

    >>> perfcase.open("incident.perfcase").table("thread_time").order("on_cpu_ns DESC").df()
    """
    from perfcase.case.opening import open_capture

    return open_capture(file, only=only, debug_dirs=debug_dirs)


def __getattr__(name: str) -> object:
    # Loaded when it is asked for: commands do not need it.
    if name == "Client":
        from perfcase.server_client.client import Client

        return Client
    if name == "__version__":
        from perfcase.case.store import import_core

        return import_core().__version__
    raise AttributeError(f"module 'perfcase' has no attribute {name!r}")

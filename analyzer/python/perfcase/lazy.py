"""duckdb, loaded when it is first used: an import runs for most of its time without it."""

from __future__ import annotations

from typing import Any


class _DuckDB:
    """Stands for the module until one of its attributes is asked for."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module has
        import duckdb

        return getattr(duckdb, name)


duckdb = _DuckDB()

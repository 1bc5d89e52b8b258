"""The imports that the oracle tests compare."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, store
from perfcase.case.scope import resolve
from perfcase.case.window import open_scope, open_window
from tests.oracles.captures import Capture, Recorded
from tests.oracles.live import CannotRecordError
from tests.support.imports import imported


class Case:
    """An imported capture: rows of a SELECT, by DuckDB on case.duckdb."""

    def __init__(self, case: store.Case | Path, connection: duckdb.DuckDBPyConnection | None = None) -> None:
        self._case = case
        self.folder = case if isinstance(case, Path) else case.folder
        self._connection = connection or query.connect(self.folder)

    def window(self, start_clock_ns: int, end_clock_ns: int) -> Case:
        """Its part between two times of the recording's clock."""
        began_ns = self.value("SELECT start_clock_ns FROM capture")
        return Case(self._case, open_window(self._case, start_clock_ns - began_ns, end_clock_ns - began_ns))

    def only(self, *conditions: str) -> Case:
        """What --only leaves of it."""
        return Case(self._case, open_scope(self._case, resolve(lambda: nullcontext(self._connection), conditions)))

    def rows(self, sql: str, *parameters: object) -> list[tuple]:
        """All rows."""
        return self._connection.execute(sql, parameters).fetchall()

    def value(self, sql: str, *parameters: object) -> object:
        """The one value of a SELECT of one row and one column."""
        ((value,),) = self.rows(sql, *parameters)
        return value


@pytest.fixture(scope="session")
def case_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Capture], Case]:
    """The imported form of a capture."""
    folder = tmp_path_factory.mktemp("oracles")
    cases: dict[str, Case] = {}

    def get(capture: Capture) -> Case:
        if capture.id not in cases:
            if isinstance(capture, Recorded):
                cases[capture.id] = Case(imported(capture.packed))
            else:
                try:
                    path = capture.path()
                except CannotRecordError as reason:
                    pytest.skip(str(reason))
                cases[capture.id] = Case(store.open_case(path, folder / f"{capture.name}.case"))
        return cases[capture.id]

    return get

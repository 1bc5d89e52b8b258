"""A capture in Python: the result of ``perfcase.open``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from perfcase.case.kept import recall_named
from perfcase.case.opening import Opened, open_capture
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.operations.request import BaseRequest, decode


class Case:
    """A capture, or a part of it.

    It has the methods of a DuckDB connection to its tables and views (``sql``, ``table``, ``execute``, …; the connection itself is
    ``connection``), and the operations of perfcase. An operation takes the fields of its request by name, such as ``limit=10``. Rows
    are DuckDB relations: ``df()`` (pandas), ``pl()`` (polars), ``fetchall()``, Arrow.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        # An error in opening is raised here and not later.
        self.connection = opened.connection

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a connection has
        if name == "connection":
            raise AttributeError(name)
        return getattr(self.connection, name)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *dir(self.connection)})

    def __enter__(self) -> Case:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._opened.close()

    def sql(self, query: str, **asked: Any) -> duckdb.DuckDBPyRelation:  # noqa: ANN401 - as in DuckDB
        """Return the rows of a query, as the connection's ``sql``. What it names of the findings is worked out first, a rule at a time.

        Raises:
            PerfcaseError: a rule fails (sql).
        """
        recall_named(self.connection, query)
        return self.connection.sql(query, **asked)

    def execute(self, query: str, *asked: Any) -> duckdb.DuckDBPyConnection:  # noqa: ANN401 - as in DuckDB
        """Run a query, as the connection's ``execute``; as with ``sql``."""
        recall_named(self.connection, query)
        return self.connection.execute(query, *asked)

    def view(self, name: str, **asked: object) -> duckdb.DuckDBPyRelation:
        """Return the rows of a view or table: ``where``, ``order``, ``settings``, ``by``, ``offset``, ``limit`` (operations.view).

        Raises:
            PerfcaseError: there is no such view (not_found), or a condition is wrong (sql).
        """
        from perfcase.operations.view import Request, has_first, run

        request = _request(Request, {"name": name, **asked})
        opened = self._opened
        if request.settings or (request.limit and has_first(request)):
            # A parameter stays set in its connection: later operations use another one.
            opened = Opened(opened.case, opened.only, opened.file)
        return run(request, opened).relation()

    def findings(self, **asked: object) -> duckdb.DuckDBPyRelation:
        """Return what is wrong, the most severe first: the view finding; with ``rules=True`` every rule (operations.findings).

        Raises:
            PerfcaseError: a rule fails (sql).
        """
        from perfcase.operations.findings import Request, run

        return run(_request(Request, asked), self._opened).relation()

    def diff(self, other: Case | str | PathLike[str] | None = None, **asked: object) -> duckdb.DuckDBPyRelation:
        """Compare with another capture, or with ``a_window`` and ``b_window`` two parts of this one. The largest change comes first
        (operations.diff: ``view``, ``per``, ``callers``, ``event``, ``off_cpu``, ``limit``).

        Parts of two captures can have different windows; their other conditions must be the same.

        Raises:
            PerfcaseError: these cannot be compared (usage), or something that is named does not exist (not_found).
        """
        from perfcase.operations.diff import Request, run

        a, windows = _without_window(self._opened, "a_window")
        b = None
        if other is not None:
            opened = other._opened if isinstance(other, Case) else open_capture(other, only=a.only)
            b, others = _without_window(opened, "b_window")
            windows |= others
            if a.only != b.only:
                reason = f"{a.words} and {b.words} are different parts"
                raise PerfcaseError("usage", reason, "use the same only for both; windows may differ")
        return run(_request(Request, {"fmt": "json", **windows, **asked}), a, b).relation()

    def flamegraph(self, **asked: object) -> str:
        """Return a flame graph as SVG, or with ``fmt="json"`` its tree (operations.flamegraph: ``event``, ``off_cpu``, ``where``).

        Raises:
            PerfcaseError: there are no such samples (not_found), or the condition is wrong (sql).
        """
        from perfcase.operations.flamegraph import Request, run

        return run(_request(Request, asked), self._opened).text

    def report(self, **asked: object) -> str:
        """Return the first five minutes of an investigation, as text or with ``fmt="json"`` as JSON (operations.report)."""
        from perfcase.operations.report import Request, run

        return run(_request(Request, asked), self._opened).text

    def summary(self, to: str = "md") -> str:
        """Return one page for the ticket, as md (Markdown) or html.

        Raises:
            PerfcaseError: ``to`` is something else (usage).
        """
        from perfcase.operations.summary import Request, run

        return run(_request(Request, {"to": to}), self._opened).text

    def info(self) -> dict[str, Any]:
        """Describe the capture: host, kernel, command, sources, what each lost, what is missing and how to record it."""
        from perfcase.operations.info import Request, run

        return json.loads(run(Request(), self._opened).text)

    def export(self, to: str, output: str | PathLike[str], **asked: object) -> Path:
        """Write the capture for another tool (operations.export): a file; csv and parquet write a folder. Return its path.

        Raises:
            PerfcaseError: there are no such samples (not_found), or it cannot be written (environment).
        """
        from perfcase.operations.export import Request, run

        run(_request(Request, {"to": to, **asked}), self._opened).write(Path(output))
        return Path(output)


def _request(cls: type[BaseRequest], asked: dict[str, Any]) -> Any:  # noqa: ANN401 - a request of that class
    """Return the request with these fields.

    Raises:
        PerfcaseError: it has no such field (usage).
    """
    try:
        return decode(cls, asked)
    except TypeError as error:
        raise PerfcaseError("usage", str(error).replace("Request.__init__()", cls.__module__)) from error


def _without_window(opened: Opened, name: str) -> tuple[Opened, dict[str, str]]:
    """Return the capture without its window, and the window as a field of a diff."""
    key = "window="
    windows = [condition.removeprefix(key) for condition in opened.only if condition.startswith(key)]
    others = [condition for condition in opened.only if not condition.startswith(key)]
    return Opened(opened.case, others, opened.file), {name: windows[0]} if windows else {}

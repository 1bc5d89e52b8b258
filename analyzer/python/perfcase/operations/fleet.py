"""Ask each capture of a store on a cluster of Apache Spark: a view, a SELECT, the findings or a figure; or import them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from perfcase.case import store
from perfcase.case.rows import table_of
from perfcase.catalogue.schema import quote
from perfcase.errors import PerfcaseError
from perfcase.fleet.captures import Capture, Progress, SkippedCapture, places
from perfcase.fleet.metric import Metric, Reading
from perfcase.fleet.readings import read_all
from perfcase.fleet.selector import select
from perfcase.lazy import duckdb
from perfcase.operations import fields, history
from perfcase.operations.request import BaseRequest, Option
from perfcase.operations.result import Result, Rows, say
from perfcase.operations.result import select as limited

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Action = Literal["view", "sql", "findings", "history", "import"]
NEEDS_WHAT: Mapping[str, str] = {"view": "the name of a view", "sql": "a SELECT"}
"""Actions with one more word, and what that is."""


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """A question to each capture, and the cluster that answers it."""

    action: Action = "view"
    what: str = ""
    """The name of a view, or a SELECT."""
    master: Annotated[
        str,
        Option(
            "The cluster: spark://HOST:PORT, or local[N] for Spark on N CPUs of this machine. Its workers see the captures by the same paths; those of URLs are copied to $XDG_CACHE_HOME.",
            metavar="URL",
            length_max=300,
        ),
    ] = "local[*]"
    only: history.Only = None
    where: fields.where("view, history: use only these rows: \"comm = 'java'\".") = None
    view: history.ViewName = None
    measure: history.Measure = None
    agg: history.Agg = None
    by: history.By = "time"
    limit: fields.Limit = None
    fmt: fields.Format = "table"
    plot: fields.plot("history: draw sparklines.") = None


@dataclass(frozen=True)
class Answered:
    """The rows of all captures, the name of the capture first."""

    rows: Rows
    left_out: Sequence[SkippedCapture]

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``. What is not in it is said on standard error."""
        self.rows.write(output)
        for each in self.left_out:
            say(f"{each.name}: left out: {each.reason}")

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return the rows as a relation of DuckDB."""
        return self.rows.relation()


def run(
    request: Request, stores: Sequence[Path | str], progress: Progress = lambda _name, _number, _of: None
) -> Result:
    """Ask the captures below these folders and URLs. What is not imported yet, the workers of the cluster import.

    Raises:
        PerfcaseError: there is no Spark, or it does not answer (environment); no capture can be read (input); the question is wrong (sql,
            usage, not_found).
    """
    # Loaded here: nobody else needs Spark.
    from perfcase.cluster.spark import connected

    sql = _sql(request)
    with connected(request.master) as session:
        done, left_out = _imported(session, stores, progress, is_all=request.action == "import")
        if request.action == "import":
            return Answered(_import_rows(done, request), left_out)
        fleet = history.loaded(stores, progress)
        shown = select(fleet.captures, request.only) if request.only else fleet.captures
        if request.action == "history":
            return history.run(_history(request), stores, progress, _reader(session))
        return _asked(session, request, sql, shown, fleet.left_out)


def _sql(request: Request) -> str:
    """Return the question, checked before there is a Spark: to start one takes seconds."""
    if request.action in ("history", "import"):
        return ""
    try:
        from perfcase.cluster.relations import checked
    except ImportError as error:
        raise PerfcaseError("environment", f"Spark is not there: {error}", "pip install 'perfcase[spark]'") from error
    sql = request.what
    if request.action != "sql":
        name = "finding" if request.action == "findings" else request.what
        sql = f"SELECT * FROM {quote(name)}{f' WHERE ({request.where}{chr(10)})' if request.where else ''}"
    checked(sql)
    return sql


def _asked(
    session: SparkSession, request: Request, sql: str, shown: Sequence[Capture], left_out: Sequence[SkippedCapture]
) -> Answered:
    from perfcase.cluster.relations import Relations

    relations = Relations(session, shown)
    answer = relations.ask(sql, request.limit)
    connection = duckdb.connect(config={"threads": 1})
    connection.register("answer", answer)
    connection.execute("SET enable_external_access = false")
    rows = Rows(limited(connection, "SELECT * FROM answer", request.limit), request.fmt, request.limit)
    return Answered(rows, [*left_out, *relations.left_out])


def _imported(
    session: SparkSession, stores: Sequence[Path | str], progress: Progress, *, is_all: bool
) -> tuple[list[tuple[str, int, str]], list[SkippedCapture]]:
    """Import what is not imported yet, on the cluster; return the name of each, its exit code and its last line; and what could not be
    looked at."""
    from perfcase.cluster.importing import import_all

    found, left_out = places(stores)
    found = [(name, path) for name, path in found if not store.is_imported(path)]
    missing = [each for each in found if is_all or not store.is_current(store.default_folder(each[1]))]
    done = []
    for number, one in enumerate(import_all(session, [path for _, path in missing]) if missing else ()):
        progress(missing[one.number][0], number, len(missing))
        done.append((missing[one.number][0], one.code, one.said))
    return sorted(done), left_out


def _import_rows(done: Sequence[tuple[str, int, str]], request: Request) -> Rows:
    columns = {"capture": "VARCHAR", "exit_code": "BIGINT", "result": "VARCHAR"}
    connection = table_of("import", columns, [list(row) for row in done])
    return Rows(limited(connection, 'SELECT * FROM "import"', request.limit), request.fmt, request.limit)


def _history(request: Request) -> history.Request:
    if request.view is None:
        raise PerfcaseError("usage", "fleet history needs --view NAME", "perfcase history STORE lists the captures")
    return history.Request(
        view=request.view, measure=request.measure, where=request.where, agg=request.agg, by=request.by, only=request.only,
        limit=request.limit, fmt=request.fmt, plot=request.plot,
    )  # fmt: skip


def _reader(session: SparkSession) -> history.Reader:
    """Return what reads a figure of all captures in one job. DuckDB says why a capture has no rows."""
    from perfcase.cluster.figures import readings
    from perfcase.cluster.relations import Relations

    def read(
        wanted: Metric, captures: Mapping[str, Capture], progress: Progress, given: Mapping[str, Reading]
    ) -> dict[str, Reading]:
        known = readings(Relations(session, list(captures.values())), wanted, captures)
        return read_all(wanted, captures, progress, {**given, **known})

    return read

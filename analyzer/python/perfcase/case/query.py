"""SQL on an imported folder, by a connection that can read its tables and nothing else."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from perfcase.case import budget, exact, sql_bounds
from perfcase.case.values import Value
from perfcase.case.wholeness import KEPT
from perfcase.catalogue.schema import literal
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

if TYPE_CHECKING:
    from nanoarrow.c_array_stream import CArrayStream

_BATCH_ROWS = 10_000
_THREADS_MAX = 1024

_OPTIMIZERS_OFF = ("projection_pullup", "common_subplan")
"""DuckDB 2.0 spends a third of the time of a query over many views in the first, and no view is the faster for it. It gives wrong answers, too: the view
pmc_summary over tables in memory has a sum of 6.9 s, which a filter of more than 5 s does not find, and which ORDER BY cuts to 32 bits. With the
second a query that has the view peer_wait twice ends in an internal error, after which the database is of no use (DuckDB's
issues 22133 and 24781 are others of its kind); no view is the slower without it."""

THREADS = "PERFCASE_THREADS"
"""The variable that says on how many threads a question may run; all CPUs if it is not set."""

MEMORY_SHORT = "the question needs more memory than it may take"
"""The message of a question that was too large."""

SELECT_HINT = "one SELECT (or FROM …, WITH …, DESCRIBE …, SHOW …) is allowed"


def connect(case_dir: Path, sharers: int = 1, *, is_counted: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a read-only, locked-down connection to the tables and views of an imported folder; ``sharers`` of them work at once.
    ``is_counted``: ``bytes_read`` is asked for, which costs up to a tenth of a short query."""
    folder = case_dir.resolve()
    try:
        connection = duckdb.connect(str(folder / "case.duckdb"), read_only=True)
        if is_counted:
            count(connection)
        lock_down(connection, folder, sharers)
        connection.execute("SET VARIABLE is_whole = true")
    except duckdb.Error as error:
        raise PerfcaseError("input", f"{case_dir}: cannot be opened: {error}", "import the capture again") from error
    return connection


@contextmanager
def one_database(
    path: Path, folders: Sequence[Path], sharers: int
) -> Iterator[Callable[[Path], duckdb.DuckDBPyConnection]]:
    """Provide connections as ``connect`` makes, to imported folders which all have the tables and views of the database ``path``: to open
    one takes as long as to ask it. ``folders``: their paths without links. ``sharers`` of them work at once."""
    try:
        base = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise PerfcaseError("input", f"{path}: cannot be opened: {error}") from error

    def connected(folder: Path) -> duckdb.DuckDBPyConnection:
        connection = base.cursor()
        connection.execute(f"SET VARIABLE case_dir = {literal(str(folder))}")
        connection.execute("SET VARIABLE is_whole = true")
        return connection

    with base:
        _lock(base, "allowed_directories", _readable(folders), sharers)
        yield connected


@contextmanager
def over_files(path: Path, files: Sequence[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Provide a connection to the database ``path`` that can read these files and nothing else. The ends of the files stay in memory: they must be
    small, and are read once for all statements."""
    with duckdb.connect(str(path), read_only=True) as connection:
        connection.execute("SET parquet_metadata_cache = true")
        places = [str(file) for file in files]
        _lock(connection, "allowed_paths", places, 1)
        yield connection


def count(connection: duckdb.DuckDBPyConnection) -> None:
    """Make DuckDB count what each query reads. To be called before the connection is locked down."""
    # A database that is open in this process already is locked: then nothing is counted.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_profiling = 'no_output'")


def bytes_read(connection: duckdb.DuckDBPyConnection) -> int | None:
    """Return how many bytes of files the last query has read, ends of files included; None where that was not counted.

    What an earlier query of the connection has put into memory, the last one has not read.
    """
    with suppress(duckdb.Error, ValueError):
        return json.loads(connection.get_profiling_information(format="json")).get("io", {}).get("total_bytes_read")
    return None


def whole(connection: duckdb.DuckDBPyConnection) -> Path | None:
    """Return the imported folder whose tables a connection of ``connect`` sees; None where it sees a part of them."""
    ((folder,),) = connection.execute("SELECT getvariable('case_dir') WHERE getvariable('is_whole')").fetchall() or [
        (None,)
    ]
    return Path(folder) if folder else None


def lock_down(connection: duckdb.DuckDBPyConnection, folder: Path, sharers: int = 1) -> None:
    """Restrict a connection to the tables and the cache of an imported folder. ``folder`` is absolute."""
    connection.execute(f"SET VARIABLE case_dir = {literal(str(folder))}")
    if connection.execute("SELECT current_setting('lock_configuration')").fetchall() == [(True,)]:
        # The file is open in this process already: DuckDB gave us that database, as it was locked down then.
        return
    _lock(connection, "allowed_directories", _readable([folder]), sharers)


def _readable(folders: Iterable[Path]) -> list[str]:
    return [str(folder / name) for folder in folders for name in ("tables", KEPT)]


def _lock(connection: duckdb.DuckDBPyConnection, setting: str, places: Sequence[str], sharers: int) -> None:
    # A pattern of files is held against them as it is written.
    allowed = {*places, *map(glob.escape, places)}
    connection.execute(f"SET {setting} = [{', '.join(map(literal, sorted(allowed)))}]")
    tune(connection, sharers)
    give_room(connection, sharers)
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def give_room(connection: duckdb.DuckDBPyConnection, sharers: int = 1) -> None:
    """Limit the memory of a connection, and say where it may put what does not fit. ``sharers`` of them have the budget together."""
    memory = budget.memory_bytes(thread_count(connection)) // sharers
    connection.execute(f"SET memory_limit = '{memory}B'")
    spilled = budget.spill_folder()
    connection.execute(f"SET temp_directory = {literal(spilled)}")
    if spilled:
        connection.execute(f"SET max_temp_directory_size = '{budget.disk_bytes(spilled)}B'")


def thread_count(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of threads for a query.

    Raises:
        PerfcaseError: what the variable says is no number of threads.
    """
    given = os.environ.get(THREADS, "")
    if given and not (given.isdecimal() and 0 < int(given) <= _THREADS_MAX):
        raise PerfcaseError("usage", f"{THREADS}={given}: a number of threads, 1 to {_THREADS_MAX}")
    ((usual,),) = connection.execute("SELECT current_setting('threads')").fetchall()
    return int(given or usual)


def tune(connection: duckdb.DuckDBPyConnection, sharers: int = 1) -> None:
    """Make queries over many views faster; what they answer stays the same. Two connections that are asked at the same time
    get half of the threads each: more than there are CPUs only wait for each other."""
    threads = thread_count(connection)
    # On a terminal it would write among our lines; and to count what was done takes a thirtieth of a short query.
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET threads = {max(1, threads // sharers)}")
    avoid_faults(connection)


def avoid_faults(connection: duckdb.DuckDBPyConnection) -> None:
    """Turn off what is wrong in DuckDB's optimizer. For every connection that works something out."""
    known = {name for (name,) in connection.execute("FROM duckdb_optimizers()").fetchall()}
    connection.execute(f"SET disabled_optimizers = '{','.join(known.intersection(_OPTIMIZERS_OFF))}'")


def check_values(connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Value]) -> None:
    """Check that each parameter of a query has a value, and that there is no other.

    Raises:
        PerfcaseError: that is not so (sql).
    """
    sql_bounds.check(sql)
    with sql_errors():
        wanted = {name.lower() for each in connection.extract_statements(sql) for name in each.named_parameters}
    for name in sorted(wanted - values.keys()):
        raise PerfcaseError("sql", f"${name} has no value", f"--set {name}=VALUE")
    for name in sorted(values.keys() - wanted):
        raise PerfcaseError("sql", f"the query has no ${name}")


def gate(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return ``sql`` if it is exactly one SELECT. COPY, ATTACH and the like could write into the folder; EXPLAIN runs them."""
    sql_bounds.check(sql)
    with sql_errors():
        statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise PerfcaseError("sql", f"expected one statement, found {len(statements)}", SELECT_HINT)
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = str(statements[0].type).rpartition(".")[2]
        raise PerfcaseError("sql", f"{kind} is not allowed", SELECT_HINT)
    return statements[0].query


class Result:
    """The rows of one SELECT, fetched as they are asked for: once, by ``rows`` or by ``arrow``."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Value] | None = None
    ) -> None:
        """Keep the query; ``values``: those of its parameters. DuckDB binds them, they never become SQL."""
        self._connection = connection
        self._values = dict(values or {})
        self._sql = gate(connection, sql).strip().rstrip(";")
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._columns: list[str] | None = None
        self.row_count = 0
        """Rows that ``rows`` has handed out."""

    def bytes_read(self) -> int | None:
        """Return how many bytes of files were read for the rows; to be called when all are there. None where that was not counted."""
        return bytes_read(self._connection)

    @property
    def columns(self) -> list[str]:
        """The names of the columns. Two may have the same."""
        if self._columns is None:
            self._columns = [column[0] for column in self._executed().description or ()]
        return self._columns

    def rows(self) -> Iterator[tuple]:
        """Yield the rows in order."""
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[tuple]]:
        """Yield the rows in order, many at a time."""
        cursor = self._executed()
        while batch := cursor.fetchmany(_BATCH_ROWS):
            self.row_count += len(batch)
            yield batch

    def lines(self, line: Callable[[Sequence[str], Sequence[exact.Kind]], str | None]) -> Iterator[str] | None:
        """Return the rows as text that DuckDB makes, many at a time. ``line`` returns, for the names and types of the columns, the SQL of a
        row's text over ``c0``, ``c1``, …; it has none for some types: then this returns None."""
        with sql_errors():
            relation = self._typed()
            self._columns = relation.columns
            made = line(relation.columns, relation.types)
            if made is None:
                return None
            places = ", ".join(f"c{at}" for at in range(len(relation.columns)))
            self._cursor = self._execute(f"SELECT {made} FROM ({self._sql}\n) AS answer({places})")
        return ("".join([text for (text,) in batch]) for batch in self.batches())

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return the rows as a relation of DuckDB, with the types of the query."""
        with sql_errors():
            return self._relation(self._sql)

    def arrow(self) -> ArrowStream:
        """Return the rows as an Arrow C stream."""
        return self._stream(exact.IN_ARROW)[0]

    def _stream(self, changes: Mapping[str, str]) -> tuple[ArrowStream, Sequence[str], Sequence[exact.Kind]]:
        """Return the rows with other types, and which columns and types they had."""
        relation = self._typed()
        names, kinds = relation.columns, relation.types
        cast = exact.select(self._sql, names, kinds, lambda kind: exact.changed(kind, changes))
        if cast or self._values:
            relation = self._relation(cast or self._sql)
        return ArrowStream(relation), names, kinds

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(sql, self._values) if self._values else self._connection.execute(sql)

    def _relation(self, sql: str) -> duckdb.DuckDBPyRelation:
        return self._connection.sql(sql, params=self._values) if self._values else self._connection.sql(sql)

    def _typed(self) -> duckdb.DuckDBPyRelation:
        """Return a relation with the columns of the rows. DuckDB runs one with values at once: this has no rows then."""
        return self._relation(f"SELECT * FROM ({self._sql}\n) LIMIT 0" if self._values else self._sql)

    def _executed(self) -> duckdb.DuckDBPyConnection:
        if self._cursor is None:
            with sql_errors():
                cursor = self._execute(self._sql)
                names, kinds = zip(*(column[:2] for column in cursor.description or ()), strict=True)
                cast = exact.select(self._sql, names, kinds, lambda kind: exact.changed(kind, exact.IN_PYTHON))
                self._cursor = self._execute(cast) if cast else cursor
        return self._cursor


class CombinedResult(Result):
    """The rows of one SELECT on each of several captures, in their order; a first column, capture_id, says which.

    A column that some of them do not have is NULL there.
    """

    def __init__(
        self,
        connections: Iterable[duckdb.DuckDBPyConnection],
        sql: str,
        limit: int | None = None,
        values: Mapping[str, Value] | None = None,
    ) -> None:
        gathered = duckdb.connect()
        avoid_faults(gathered)
        is_first = True
        self._reads: list[int | None] = []
        for connection in connections:
            one = Result(
                connection,
                f"SELECT * FROM ({gate(connection, sql).strip().rstrip(';')}\n)" + (f" LIMIT {limit}" if limit else ""),
                values,
            )
            ((capture_id,),) = connection.execute("SELECT capture_id FROM capture").fetchall()
            with sql_errors():
                stream, names, kinds = one._stream(exact.IN_TRANSIT)
                gathered.register("one", stream)
                restored = exact.select("FROM one", names, kinds, _after_transit) or "FROM one"
                select = f"SELECT {literal(capture_id)} AS capture_id, * FROM ({restored})"
                gathered.execute(
                    f"CREATE TABLE answer AS {select}" if is_first else f"INSERT INTO answer BY NAME {select}"
                )
                gathered.unregister("one")
            self._reads.append(bytes_read(connection))
            is_first = False
        super().__init__(gathered, "FROM answer" + (f" LIMIT {limit}" if limit else ""))

    def bytes_read(self) -> int | None:
        """Return it for all captures together; None where it was not counted for one of them."""
        counted = [read for read in self._reads if read is not None]
        return sum(counted) if len(counted) == len(self._reads) else None


def _after_transit(kind: exact.Kind) -> str | None:
    """Return what a column becomes again that was sent as text."""
    return (exact.changed(kind, exact.AFTER_TRANSIT) or str(kind)) if exact.changed(kind, exact.IN_TRANSIT) else None


class ArrowStream:
    """What hands out the Arrow C stream of a result, and nothing else of it.

    DuckDB asks for the schema twice before it reads: it has it from the stream that it reads then, so that the query runs once.
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation
        self._begun: CArrayStream | None = None

    def __arrow_c_schema__(self) -> object:
        """Return the types of the columns, by Arrow's PyCapsule interface."""
        from nanoarrow import c_array_stream

        if self._begun is None:
            self._begun = c_array_stream(self._stream())
        return self._begun.get_schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the stream, by the same interface: DuckDB makes it, pyarrow is not needed."""
        begun, self._begun = self._begun, None
        return begun.__arrow_c_stream__(requested_schema) if begun else self._stream()

    def _stream(self) -> object:
        """Return DuckDB's stream. Its usual 131,072 rows a batch are up to 100 MB of long rows, outside of the memory that it limits; only a
        part of its interface that it does not document takes another number."""
        submit = getattr(self._relation, "_submit", None)
        return submit("stream", _BATCH_ROWS).arrow_capsule() if submit else self._relation.__arrow_c_stream__(None)


@contextmanager
def sql_errors() -> Iterator[None]:
    """Convert DuckDB's errors into ours."""
    try:
        yield
    except duckdb.Error as error:
        raise sql_error(error) from error


def sql_error(error: duckdb.Error) -> PerfcaseError:
    """Return DuckDB's error as ours, on one line, its hint kept apart."""
    text = str(error).split("\n\nLINE")[0].split("\nLINE ")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else "the query failed"
    if isinstance(error, duckdb.OutOfMemoryException) and "offload" in first:
        place = Path(budget.spill_folder()).parent
        remedy = "free some, set TMPDIR to a folder with more room, or give it more memory: --memory 2G"
        return PerfcaseError(
            "environment", f"{place}: too little free disk space for what the question puts aside", remedy
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        remedy = "ask for less, such as --only window=10s..20s, or give it more: --memory 2G"
        return PerfcaseError("environment", MEMORY_SHORT, remedy)
    kind = "environment" if isinstance(error, duckdb.IOException) else "sql"
    made = PerfcaseError(kind, first, " ".join(lines[1:])[:300] or None)
    # The error that is shown may be of a damaged table: its cause tells.
    made.__cause__ = error
    return made

"""Results of queries as table, csv, json, arrow or parquet."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Literal

from perfcase.case.query import Result, sql_errors
from perfcase.catalogue.plot import Plan
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb, rich
from perfcase.terminal.layout import NULL, cell_text, is_numeric, layout
from perfcase.terminal.lines import columns_text, csv_text, json_text
from perfcase.text import plural, safe, safe_lines

Format = Literal["table", "csv", "json", "arrow", "parquet"]
BINARY_FORMATS = ("arrow", "parquet")

TABLE_ROWS_MAX = 1000
"""Rows that a table for people shows unless --limit says otherwise."""
PLOT_ROWS_MAX = 100_000
"""Rows that are drawn."""


def console(*, stderr: bool = False) -> rich.console.Console:
    """Return a console that colours and wraps on a terminal only; elsewhere lines are as long as they need to be."""
    probe = rich.console.Console(stderr=stderr, highlight=False)
    return (
        probe
        if probe.is_terminal
        else rich.console.Console(stderr=stderr, highlight=False, width=100_000, soft_wrap=True)
    )


def write_result(result: Result, fmt: str, output: Path | None, *, limited: bool, plot: Plan | None = None) -> None:
    """Write a result to ``output`` or standard output. ``limited``: the user gave a limit, so no other applies.

    ``plot``: how to draw a table, where its rows are worth it.
    """
    try:
        with sql_errors():
            if fmt in BINARY_FORMATS:
                _write_binary(result, fmt, output)
            elif output is None:
                _write_text(result, fmt, sys.stdout, limited=limited, plot=plot)
            else:
                with replacing(output) as partial, partial.open("w", encoding="utf-8", newline="") as file:
                    _write_text(result, fmt, file, limited=limited)
    except OSError as error:
        place = output or "standard output"
        raise PerfcaseError("environment", f"{place}: cannot be written: {error.strerror or error}") from error


@contextmanager
def page(output: Path | None) -> Iterator[rich.console.Console]:
    """Provide a console on a file, or on standard output; elsewhere than on a terminal lines are as long as they need to be."""
    if output is None:
        yield console()
        return
    with _written(output) as file:
        yield rich.console.Console(file=file, highlight=False, width=100_000, soft_wrap=True)


def write_text(text: str, output: Path | None) -> None:
    """Write text that is whole already. A character that UTF-8 does not have becomes a question mark."""
    text = text.encode(errors="replace").decode()
    if output is None:
        sys.stdout.write(safe_lines(text) if sys.stdout.isatty() else text)
        return
    with _written(output) as file:
        file.write(text)


@contextmanager
def _written(output: Path) -> Iterator[IO[str]]:
    try:
        with replacing(output) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            yield file
    except OSError as error:
        raise PerfcaseError("environment", f"{output}: cannot be written: {error.strerror or error}") from error


def _write_text(result: Result, fmt: str, file: IO[str], *, limited: bool, plot: Plan | None = None) -> None:
    if fmt == "table":
        _table(result, file, limited=limited, plot=plot)
        return
    texts = {"csv": csv_text, "json": json_text, "columns": columns_text}[fmt](result)
    # To a pipe or file text goes as it is; to a terminal without anything that the terminal would obey.
    cleaned: Callable[[str], str] = safe_lines if file.isatty() else str
    for text in texts:
        file.write(cleaned(text))


def _table(result: Result, file: IO[str], *, limited: bool, plot: Plan | None) -> None:
    most = PLOT_ROWS_MAX if plot else TABLE_ROWS_MAX
    rows: list[Sequence[object]] = []
    more = False
    for row in result.rows():
        if not limited and len(rows) == most:
            more = True
            break
        rows.append(row)
    if not plot and _is_plain(file):
        file.write(layout(result.columns, rows).text(is_coloured=False) + _note(rows, more=more) + "\n")
        return
    target = rich.console.Console(file=file, highlight=False)
    width = target.width
    if not target.is_terminal:
        target = rich.console.Console(file=file, highlight=False, width=100_000, soft_wrap=True)
    if plot:
        from perfcase.terminal.drawing import draw

        if draw(plot, result.columns, rows, target, width):
            return
    if not limited and len(rows) > TABLE_ROWS_MAX:
        rows, more = rows[:TABLE_ROWS_MAX], True
    laid_out = layout(result.columns, rows)
    if laid_out.width <= target.width and not target.options.ascii_only:
        target.file.write(laid_out.text(is_coloured=target.color_system is not None))
    else:
        # It has to be folded.
        target.print(table_of(result.columns, rows), crop=False)
    target.print(rich.text.Text(_note(rows, more=more), style="dim"))


def _is_plain(file: IO[str]) -> bool:
    """Return whether Rich would take a file for no terminal, and its lines need no Rich."""
    is_forced = any(os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))
    encoding = getattr(file, "encoding", None) or "utf-8"
    return not is_forced and not file.isatty() and encoding.lower().startswith("utf")


def _note(rows: Sequence[object], *, more: bool) -> str:
    return f"first {plural(len(rows), 'row')}; --limit 0 gives all" if more else plural(len(rows), "row")


def table_of(names: Sequence[str], rows: Sequence[Sequence[object]], title: str | None = None) -> rich.table.Table:
    """Return a Rich table of plain values: text made safe, numbers to the right."""
    table = rich.table.Table(
        box=rich.box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        title=title,
        title_justify="left",
        header_style="bold",
    )
    for at, name in enumerate(names):
        justify = "right" if is_numeric(rows, at) else "left"
        table.add_column(rich.text.Text(safe(name)), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    return table


def _cell(value: object) -> rich.text.Text:
    text = cell_text(value)
    return rich.text.Text(NULL, style="dim") if text is None else rich.text.Text(text)


def _write_binary(result: Result, fmt: str, output: Path | None) -> None:
    if output is None and sys.stdout.isatty():
        raise PerfcaseError("usage", f"{fmt} is binary and standard output is a terminal", "use -o FILE or a pipe")
    write = _arrow if fmt == "arrow" else _parquet
    if output is not None:
        with replacing(output) as partial:
            write(result, partial)
        return
    with tempfile.TemporaryDirectory(prefix="perfcase-") as folder:
        path = Path(folder) / "result"
        write(result, path)
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                sys.stdout.buffer.write(chunk)


def _arrow(result: Result, path: Path) -> None:
    """Write an Arrow IPC stream. DuckDB provides the C stream, so pyarrow is not needed."""
    from nanoarrow._utils import NanoarrowException
    from nanoarrow.ipc import StreamWriter

    with path.open("wb") as file, StreamWriter.from_writable(file) as writer:
        try:
            writer.write_stream(result.arrow())
        except NanoarrowException as error:
            # What fails after the first rows, the stream tells as text.
            place, _, message = str(error).partition(": ")
            if "get_next" not in place:
                raise
            raise PerfcaseError("sql", message.splitlines()[0]) from error


def _parquet(result: Result, path: Path) -> None:
    """Write Parquet with a second connection that can write: the one with the user's SQL cannot."""
    _writer().from_arrow(result.arrow()).write_parquet(str(path), compression="zstd")


@cache
def _writer() -> duckdb.DuckDBPyConnection:
    """Return one connection for all files: an export writes hundreds, and opening a database takes longer than most of them."""
    return duckdb.connect()


class replacing:  # noqa: N801 - reads as a verb: with replacing(path) as partial
    """A file beside ``path`` that takes its place when all went well, and goes away otherwise."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._special = path.exists() and not path.is_file()
        self._partial = path if self._special else path.with_name(f".{path.name}.partial")

    def __enter__(self) -> Path:
        return self._partial

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._special:
            return
        if kind is None:
            self._partial.replace(self._path)
        else:
            self._partial.unlink(missing_ok=True)

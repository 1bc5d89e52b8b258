"""Shared parts of commands: arguments, the progress bar, opening FILE."""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfcase.case import query, store
from perfcase.case.opening import connect
from perfcase.catalogue.plot import Plan
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb, rich
from perfcase.terminal import render
from perfcase.text import safe

Format = StrEnum("Format", {name: name for name in render.FORMATS})

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A .perfcase archive, a perf.data, a trace.dat, a recorder's folder, or an imported folder.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    Format,
    typer.Option("--format", "-f", help="The output format: table, csv, json, arrow (IPC stream) or parquet."),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of standard output."),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit", "-n", min=0, metavar="N", help="Print at most N rows; 0 prints all. Default for a table: 1,000."
    ),
]

DebugDirOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--debug-dir",
        metavar="DIR",
        help="Read names of functions from here too: a folder with .build-id/, debuginfod's cache, perf's ~/.debug, a "
        "sysroot (/ is this machine), an ELF file, or the file of perf archive. Only files with the recorded build ID are "
        "used. An object without a recorded build ID is matched by its path; dso.symbols says so. Can be given several "
        "times.",
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="KEY=VALUE",
        help="Use only a part of the capture: window=10s..20s, process=NAME or PID, thread=NAME or TID, cpu=2 or cpu=0-3, "
        "cgroup=PATH. Names can contain * and ?. Can be given several times.",
    ),
]


OffCpuOption = Annotated[
    bool,
    typer.Option("--off-cpu", help="Show off-CPU time by callchain instead of samples."),
]
WakersOption = Annotated[
    bool,
    typer.Option(
        "--wakers", help="With --off-cpu: show only sleeps, with the callchain of the waker, inverted, on top of each."
    ),
]


def check_off_cpu(off_cpu: bool, wakers: bool, event: str | None) -> None:
    """Check that --off-cpu, --wakers and --event are compatible."""
    if off_cpu and event:
        raise PerfcaseError(
            "usage",
            "--off-cpu and --event exclude each other",
            "--off-cpu counts time off the CPU, --event counts samples",
        )
    if wakers and not off_cpu:
        raise PerfcaseError("usage", "--wakers needs --off-cpu")


def event_option(help_text: str) -> object:
    """Return the option --event with this help text."""
    return Annotated[str | None, typer.Option("--event", "-e", metavar="NAME", help=help_text)]


def where_option(help_text: str) -> object:
    """Return the option --where with this help text."""
    return Annotated[str | None, typer.Option("--where", "-w", metavar="SQL", help=help_text)]


def plot_option(help_text: str) -> object:
    """Return the options --plot and --no-plot; the help text says what is drawn."""
    more = " This is the default on a terminal."
    return Annotated[bool | None, typer.Option("--plot/--no-plot", help=help_text + more, show_default=False)]


@contextmanager
def import_progress(label: str) -> Iterator[store.Progress]:
    """Show a progress bar on standard error if it is a terminal. The bar disappears when the import is done."""
    if not sys.stderr.isatty():
        yield lambda _phase, _records: None
        return
    shown = rich.progress
    columns = (
        shown.SpinnerColumn(),
        shown.TextColumn("{task.fields[label]}", markup=False),
        shown.BarColumn(),
        shown.TextColumn("{task.description}", markup=False),
        shown.TextColumn("{task.completed:,.0f} records"),
        shown.TimeElapsedColumn(),
    )
    progress = shown.Progress(*columns, console=render.console(stderr=True), transient=True)
    task = progress.add_task("opening", total=None, label=safe(label))

    def report(phase: str, records: int) -> None:
        # Start the bar here: a reused import shows none.
        progress.start()
        progress.update(task, description=phase, completed=records)

    try:
        yield report
    finally:
        progress.stop()


@contextmanager
def capture_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show on standard error, if it is a terminal, which capture is being read."""
    if not sys.stderr.isatty():
        yield lambda _name, _number, _of: None
        return
    with render.console(stderr=True).status("") as status:
        yield lambda name, number, of: status.update(rich.markup.escape(f"{number + 1}/{of}  {safe(name)}"))


def open_file(file: Path, debug_dirs: list[Path] | None = None) -> store.Case:
    """Open FILE, and import it first if necessary."""
    with import_progress(file.name) as progress:
        return store.open_case(file, progress=progress, debug_dirs=debug_dirs or ())


def named(file: Path, only: list[str] | None) -> str:
    """Return FILE with its --only options, as words of a command line."""
    return " ".join([str(file), *(f"--only {shlex.quote(condition)}" for condition in only or ())])


@contextmanager
def opened(
    file: Path, debug_dirs: list[Path] | None = None, only: list[str] | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to the tables and views of FILE, or of a part of it."""
    with connect(open_file(file, debug_dirs), only or ()) as connection:
        yield connection


def write(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    fmt: Format,
    output: Path | None,
    limit: int | None,
    plot: Plan | None = None,
) -> query.Result:
    """Run one SELECT and write its rows, or draw them by a plan."""
    if limit:
        query.gate(connection, sql)
        sql = f"SELECT * FROM ({sql.strip().rstrip(';')}\n) LIMIT {limit}"
    result = query.Result(connection, sql)
    render.write_result(result, fmt.value, output, limited=limit is not None, plot=plot)
    return result


@contextmanager
def writing(output: Path) -> Iterator[Path]:
    """Open a file that replaces ``output`` on success."""
    try:
        with render.replacing(output) as partial:
            yield partial
    except OSError as error:
        raise PerfcaseError("environment", f"{output}: cannot be written: {error.strerror or error}") from error


def unknown(what: str, name: str, known: Iterable[str], listing: str) -> PerfcaseError:
    """Return the error for an unknown name, with similar names."""
    near = difflib.get_close_matches(name, list(known), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"{listing} lists them"
    return PerfcaseError("not_found", f"there is no {what} {name}", hint)


def complete_view(incomplete: str) -> list[tuple[str, str]]:
    """Complete names of views for the shell."""
    return [(view.name, view.description) for view in load_views().values() if view.name.startswith(incomplete)]

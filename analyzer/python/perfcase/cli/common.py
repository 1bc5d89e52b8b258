"""Shared parts of commands: arguments, the progress bar, opening FILE."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from perfcase.case import store
from perfcase.case.opening import Opened
from perfcase.lazy import rich
from perfcase.operations.result import say
from perfcase.terminal import render
from perfcase.text import safe, size


def local_file(place: str) -> Path:
    """Return the path of FILE: of its copy on this machine where it is a URL."""
    if "://" not in place:
        return Path(place)
    # Loaded here: most files are paths.
    from perfcase.case import remote

    if not remote.is_url(place):
        return Path(place)
    with transfer_progress() as progress:
        return remote.fetch(place, progress)


def folder_or_url(place: str) -> Path | str:
    """Return STORE: a folder, or the URL of a store as it is."""
    from perfcase.case import remote

    return place if remote.is_url(place) else Path(place)


FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A .perfcase archive, a perf.data, a trace.dat, a recorder's folder, or an imported folder. "
        "Or the URL of a file: s3://bucket/a.perfcase, https://host/a.perfcase.",
        show_default=False,
        parser=local_file,
    ),
]


def unless_standard_output(output: Path | None) -> Path | None:
    """Return the file to write for an operation: None for ``-``, which is standard output."""
    return None if output is None or str(output) == "-" else output


OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to this file instead of standard output.",
        callback=unless_standard_output,
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
SourceOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--source",
        metavar="DIR",
        help="Add the text of the source lines of a function: DIR has the source files, as they were when the object was built. Can be given several times.",
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


@contextmanager
def import_progress(label: str) -> Iterator[store.Progress]:
    """Show a progress bar on standard error if it is a terminal. The bar disappears when the import is done."""
    if not sys.stderr.isatty():
        yield lambda _phase, _records, _read_ns=None: None
        return
    shown = rich.progress
    columns = (
        shown.SpinnerColumn(),
        shown.TextColumn("{task.fields[label]}", markup=False),
        shown.BarColumn(),
        shown.TextColumn("{task.description}", markup=False),
        shown.TextColumn("{task.fields[records]:,.0f} records"),
        shown.TimeElapsedColumn(),
    )
    progress = shown.Progress(*columns, console=render.console(stderr=True), transient=True)
    task = progress.add_task("opening", total=None, label=safe(label), records=0)

    def report(phase: str, records: int, read_ns: tuple[int, int] | None = None) -> None:
        # Start the bar here: a reused import shows none.
        progress.start()
        # Without a total the bar says only that something goes on.
        done, total = read_ns or (0, None)
        progress.update(task, description=phase, completed=done, total=total, records=records)

    try:
        yield report
    finally:
        progress.stop()


@contextmanager
def transfer_progress() -> Iterator[Callable[[str, int, int | None], None]]:
    """Show on standard error, if it is a terminal, how far a file is on its way from or to a server, and through its import."""
    if not sys.stderr.isatty():
        yield lambda _phase, _done, _of: None
        return
    status = render.console(stderr=True).status("")

    def report(phase: str, done: int, of: int | None) -> None:
        if phase == "ready":
            status.stop()
            return
        status.start()
        far = f"{100 * done // max(of, 1)} %" if of is not None else f"{done:,} records" if done else ""
        status.update(rich.markup.escape(f"{safe(phase)} {far}"))

    try:
        yield report
    finally:
        status.stop()


@contextmanager
def capture_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show on standard error, if it is a terminal, which capture is being read."""
    if not sys.stderr.isatty():
        yield lambda _name, _number, _of: None
        return
    status = render.console(stderr=True).status("")

    def report(name: str, number: int, of: int) -> None:
        # Start here: a request about one capture shows nothing.
        status.start()
        status.update(rich.markup.escape(f"{number + 1}/{of}  {safe(name)}"))

    try:
        yield report
    finally:
        status.stop()


def open_file(file: Path, debug_dirs: list[Path] | None = None) -> store.Case:
    """Open FILE, and import it first if necessary. Say so where that takes longer than the last time."""
    why = store.why_again(file)
    with import_progress(file.name) as progress:
        case = store.open_case(file, progress=progress, debug_dirs=debug_dirs or ())
    if why:
        say(f"{file.name}: {why}")
    return case


def opened(
    file: Path, debug_dirs: list[Path] | None = None, only: list[str] | None = None, *, is_counted: bool = False
) -> Opened:
    """Open FILE or a part of it, and import it first if necessary. ``is_counted``: ``say_reads`` is asked for."""
    return Opened(open_file(file, debug_dirs), only or (), file, is_counted=is_counted)


ReadsOption = Annotated[
    bool,
    typer.Option(
        "--reads",
        help="Say on standard error how many bytes of the tables' files the query read, of how many there are.",
    ),
]


def say_reads(reads: Iterable[tuple[Opened, int | None]]) -> None:
    """Say how much of the tables a query read; nothing is known of an answer that took several."""
    for case, read in reads:
        tables = [path.stat().st_size for path in (case.case.folder / "tables").iterdir()]
        said = (
            "DuckDB did not count what it read"
            if read is None
            else f"read {size(read)} of {size(sum(tables))} in {len(tables)} tables"
        )
        say(f"{case.case.name}: {said}")

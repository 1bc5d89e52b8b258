"""What several commands share: arguments, the progress bar, opening FILE."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from perfcase.case import store
from perfcase.case.opening import Opened
from perfcase.lazy import rich
from perfcase.terminal import render
from perfcase.text import safe

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A .perfcase archive, a bare perf.data or trace.dat, a recorder's folder, or an imported folder.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write there instead of to standard output."),
]
DebugDirOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--debug-dir",
        metavar="DIR",
        help="Also take names of functions from there: a folder with .build-id/, debuginfod's cache, perf's ~/.debug, a "
        "sysroot (/ is this machine), an ELF file, or what perf archive writes. Only files of the same build id are "
        "used; where the recording has none, the file of the same path, and dso.symbols says so. May be given several "
        "times.",
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="KEY=VALUE",
        help="Only a part of the capture: window=10s..20s, process=NAME or PID, thread=NAME or TID, cpu=2 or cpu=0-3, "
        "cgroup=PATH; names may hold * and ?. May be given several times.",
    ),
]


@contextmanager
def import_progress(label: str) -> Iterator[store.Progress]:
    """A progress bar on a terminal's standard error, nothing elsewhere; gone when the import is done."""
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
        # Started here and not before: an import that is only reused shows nothing.
        progress.start()
        progress.update(task, description=phase, completed=records)

    try:
        yield report
    finally:
        progress.stop()


@contextmanager
def capture_progress() -> Iterator[Callable[[str, int, int], None]]:
    """One line on a terminal's standard error that says which capture is at work; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _name, _number, _of: None
        return
    status = render.console(stderr=True).status("")

    def report(name: str, number: int, of: int) -> None:
        # Started here and not before: where there is one capture nothing is shown.
        status.start()
        status.update(rich.markup.escape(f"{number + 1}/{of}  {safe(name)}"))

    try:
        yield report
    finally:
        status.stop()


def open_file(file: Path, debug_dirs: list[Path] | None = None) -> store.Case:
    """The imported folder of FILE, imported first if need be."""
    with import_progress(file.name) as progress:
        return store.open_case(file, progress=progress, debug_dirs=debug_dirs or ())


def opened(file: Path, debug_dirs: list[Path] | None = None, only: list[str] | None = None) -> Opened:
    """FILE, imported first if need be, or a part of it."""
    return Opened(open_file(file, debug_dirs), only or (), file)


def unless_standard_output(output: Path | None) -> Path | None:
    """Where to write, as operations have it: None for ``-``, standard output."""
    return None if output is None or str(output) == "-" else output

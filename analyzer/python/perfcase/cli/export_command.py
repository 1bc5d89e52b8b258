"""perfcase export: write a capture in the formats of other tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    OnlyOption,
    complete_view,
    event_option,
    import_progress,
    opened,
    where_option,
    writing,
)
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.stacks.fetching import choose_event, sampled_events
from perfcase.text import safe

Target = StrEnum("Target", {n: n for n in ("folded", "speedscope", "firefox", "pprof", "perfetto", "csv", "parquet")})

_BINARY = (Target.pprof, Target.perfetto)
_TABLES = (Target.csv, Target.parquet)


def command(
    file: FileArgument,
    target: Annotated[
        Target,
        typer.Option(
            "--to",
            help="folded (flamegraph.pl, inferno), speedscope, firefox (profiler.firefox.com), pprof (go tool pprof), perfetto"
            " (ui.perfetto.dev), or all tables and views as csv or parquet. The large views call_path, callees and callers"
            " are written only if --view names them.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The file to write; default: standard output. For csv and parquet a folder, or - for a tar on standard output.",
        ),
    ] = None,
    event: event_option("Write the samples of this event. Default: a clock.") = None,
    where: where_option("Write only these samples: a condition on comm, tid, pid, cpu, ts_ns, utid.") = None,
    view: Annotated[
        list[str] | None,
        typer.Option(
            "--view",
            metavar="NAME",
            help="With csv and parquet: write only this view or table. Can be given several times.",
            autocompletion=complete_view,
        ),
    ] = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Write a capture in the format of another tool. Standard error says what that format cannot hold.

    The weights of samples are nanoseconds for clocks, and counts for other events.

    Example: perfcase export incident.perfcase --to perfetto -o incident.perfetto-trace
    """
    is_tar = target in _TABLES and output == Path("-")
    if output == Path("-"):
        output = None
    _check(target, output, event, where, view, is_tar=is_tar)
    with opened(file, debug_dir, only) as connection, import_progress(file.name) as progress:
        if target in _TABLES:
            from perfcase.export.tables import write_tables, write_tar

            if is_tar:
                lost = write_tar(connection, target.value, sys.stdout.buffer, view or (), progress)
            else:
                lost = write_tables(connection, target.value, output, view or (), progress)
        else:
            module = import_module(f"perfcase.export.{target.value}")
            lost = [module.UNSUPPORTED]
            samples = _samples(connection, file.name, event, where, optional=target == Target.perfetto)
            samples.progress = lambda number: progress("writing", number)
            with _opened_for_writing(output) as out:
                module.write(samples, out)
            lost += samples.lost
    for what in lost:
        sys.stderr.write(f"perfcase: not in the {target.value} export: {safe(what)}\n")


def _check(
    target: Target, output: Path | None, event: str | None, where: str | None, view: list[str] | None, *, is_tar: bool
) -> None:
    if is_tar and sys.stdout.isatty():
        raise PerfcaseError("usage", "a tar archive is binary", "name a folder with -o")
    if target in _TABLES:
        if output is None and not is_tar:
            raise PerfcaseError(
                "usage", f"--to {target.value} writes many files", "name a folder with -o, or - for a tar"
            )
        if event or where:
            raise PerfcaseError("usage", "--event and --where choose samples", "csv and parquet take --view")
    elif view:
        raise PerfcaseError("usage", "--view is for csv and parquet", "samples are chosen with --event and --where")
    elif output is None and target in _BINARY and sys.stdout.isatty():
        raise PerfcaseError("usage", f"{target.value} is binary", "name a file with -o")


def _samples(
    connection: duckdb.DuckDBPyConnection, name: str, event: str | None, where: str | None, *, optional: bool
) -> object:
    from perfcase.export.source import Samples

    if optional and event is None and not sampled_events(connection):
        return Samples(connection, name, "", "", where, lost=["samples: the capture has none"])
    chosen, unit = choose_event(connection, event)
    return Samples(connection, name, chosen, unit, where)


@contextmanager
def _opened_for_writing(output: Path | None) -> Iterator[BinaryIO]:
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with writing(output) as partial, partial.open("wb") as file:
        yield file

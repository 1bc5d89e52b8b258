"""Write a capture in the formats of other tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

from perfcase.case.opening import Opened
from perfcase.errors import PerfcaseError
from perfcase.export.formats import formats
from perfcase.operations import fields
from perfcase.operations.request import BaseRequest, Option
from perfcase.operations.result import say, writing
from perfcase.stacks.fetching import choose_event, sampled_events

if TYPE_CHECKING:
    from perfcase.export.source import Samples

TABLES = ("csv", "parquet")
"""The formats of tables and views; the others are those of samples (``perfcase.export.formats``)."""

Progress = Callable[[str, int], None]
"""Called with what is written, and how much of it is."""

_CHOICES = (*formats(), *TABLES)
_LISTED = ", ".join(f"{name} ({each.readers})" for name, each in formats().items())


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """The format, and the part of the capture.

    Raises:
        PerfcaseError: the fields are not compatible (usage).
    """

    to: Annotated[
        Literal[_CHOICES],
        Option(
            f"{_LISTED}, or all tables and views as csv or parquet. The large views call_path, callees and callers"
            " are written only if --view names them.",
            flags=("--to",),
            is_default_shown=False,
        ),
    ]
    event: fields.event("Write the samples of this event. Default: a clock.") = None
    where: fields.where("Write only these samples: a condition on comm, tid, pid, cpu, ts_ns, utid.") = None
    view: Annotated[
        tuple[str, ...],
        fields.view(
            "With csv and parquet: write only this view or table.",
            besides=" Can be given several times.",
            length_max=1000,
            example="thread",
        ),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.to in TABLES and (self.event or self.where):
            raise PerfcaseError("usage", "--event and --where choose samples", "csv and parquet take --view")
        if self.to not in TABLES and self.view:
            raise PerfcaseError("usage", "--view is for csv and parquet", "samples are chosen with --event and --where")


def media(to: str) -> str:
    """Return what an export is: ``text``, ``json``, ``binary``, or ``tar`` for tables and views."""
    return "tar" if to in TABLES else formats()[to].media


@dataclass(frozen=True)
class Result:
    """An export. Nothing is computed before it is written."""

    request: Request
    case: Opened
    progress: Progress

    def write(self, output: Path | None = None) -> None:
        """Write a file or standard output; csv and parquet write a folder, or a tar on standard output. Standard error says what the
        format cannot hold.

        Raises:
            PerfcaseError: there is no such event or view (not_found), a condition is wrong (sql), it cannot be written
                (environment).
        """
        for what in self._write(output):
            say(f"not in the {self.request.to} export: {what}")

    def _write(self, output: Path | None) -> list[str]:
        request, connection = self.request, self.case.connection
        if request.to in TABLES:
            from perfcase.export.tables import write_tables, write_tar

            if output is None:
                return write_tar(connection, request.to, sys.stdout.buffer, request.view, self.progress)
            return write_tables(connection, request.to, output, request.view, self.progress)
        form = formats()[request.to]
        samples = self._samples()
        samples.progress = lambda number: self.progress("writing", number)
        with _opened_for_writing(output) as out:
            form.write(samples, out)
        return [form.unsupported, *samples.lost]

    def _samples(self) -> Samples:
        from perfcase.export.source import Samples

        request, connection, name = self.request, self.case.connection, self.case.file.name
        if not formats()[request.to].needs_samples and request.event is None and not sampled_events(connection):
            return Samples(connection, name, "", "", request.where, lost=["samples: the capture has none"])
        chosen, unit = choose_event(connection, request.event)
        return Samples(connection, name, chosen, unit, request.where)


def run(request: Request, case: Opened, progress: Progress = lambda _phase, _number: None) -> Result:
    """Prepare an export. ``progress`` is called with what is written, and how much is done."""
    return Result(request, case, progress)


@contextmanager
def _opened_for_writing(output: Path | None) -> Iterator[BinaryIO]:
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with writing(output) as partial, partial.open("wb") as file:
        yield file

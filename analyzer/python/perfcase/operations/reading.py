"""Compute the figure of each capture for a server that keeps it: ``known`` of ``perfcase.operations.history``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from perfcase.case import query
from perfcase.case.store import open_case
from perfcase.errors import PerfcaseError
from perfcase.fleet.figures import DURATION
from perfcase.fleet.metric import Metric, Reading, read
from perfcase.fleet.readings import asked, kept_in
from perfcase.fleet.rows import read_many
from perfcase.lazy import duckdb
from perfcase.operations.history import Agg, Measure, ViewName, figure
from perfcase.operations.request import BaseRequest

LONG_S = 2.0
"""No other of several captures is begun after this time: the server asks for the rest again, and others have their turn before that."""


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """A figure."""

    view: ViewName = None
    measure: Measure = None
    agg: Agg = None


@dataclass(frozen=True)
class Result:
    """The figure of each store, in order, as far as there was time; None for a store without it."""

    readings: Iterator[Reading | None]

    def write(self, _output: Path | None = None) -> None:
        """Write them to standard output as JSON, each on a line of its own as soon as it is known: if one ends the process, those before it
        are there."""
        for reading in self.readings:
            sys.stdout.write(json.dumps(reading and astuple(reading)) + "\n")
            sys.stdout.flush()


def run(request: Request, stores: Sequence[Path]) -> Result:
    """Return the figure of each capture; None for one of several that cannot be read.

    Raises:
        PerfcaseError: there is no such view or column (not_found), a name is missing (usage), or the only capture cannot be read.
    """
    wanted = figure(request.view, request.measure, request.agg)
    if wanted is None:
        return Result(iter([None] * len(stores)))
    return Result(iter([_one(stores[0], wanted)]) if len(stores) == 1 else _many(stores, wanted))


def _one(store: Path, wanted: Metric) -> Reading:
    folder = open_case(store).folder
    with query.sql_errors(), query.connect(folder) as connection:
        return read(connection, wanted, _duration_ns(folder, connection))


def _many(stores: Sequence[Path], wanted: Metric) -> Iterator[Reading | None]:
    begun = time.monotonic()
    # What is kept is of the tables as they are, so these are not looked at once more.
    known = read_many(wanted, kept_in(dict.fromkeys(stores)))
    rest = {store: folder for store in stores if store not in known and (folder := _folder(store))}
    with asked(wanted, [*rest.values()], _duration_ns) as work:
        of = dict(zip(rest, work, strict=True))
        for number, store in enumerate(stores):
            if number and time.monotonic() - begun > LONG_S:
                return
            try:
                yield of[store].result() if store in of else known.get(store)
            except Exception:
                # A process that is asked for this capture alone says what is wrong.
                yield None


def _folder(store: Path) -> Path | None:
    try:
        return open_case(store).folder
    except PerfcaseError:
        return None


def _duration_ns(_folder: Path, connection: duckdb.DuckDBPyConnection) -> int | None:
    ((duration_ns,),) = connection.execute(DURATION).fetchall()
    return duration_ns

"""Compute the figure of each capture for a server that keeps it: ``known`` of ``perfcase.operations.history``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from perfcase.case import query
from perfcase.case.store import open_case
from perfcase.fleet.metric import Metric, Reading, read
from perfcase.operations.history import Agg, Measure, ViewName, figure
from perfcase.operations.request import BaseRequest


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """A figure."""

    view: ViewName = None
    measure: Measure = None
    agg: Agg = None


@dataclass(frozen=True)
class Result:
    """The figure of each store, in order; None for a store without it."""

    readings: Sequence[Reading | None]

    def write(self, _output: Path | None = None) -> None:
        """Write them to standard output as JSON: a list of lists."""
        sys.stdout.write(json.dumps([each and astuple(each) for each in self.readings]) + "\n")


def run(request: Request, stores: Sequence[Path]) -> Result:
    """Return the figure of each capture.

    Raises:
        PerfcaseError: there is no such view or column (not_found), a name is missing (usage), or a capture cannot be read.
    """
    wanted = figure(request.view, request.measure, request.agg)
    return Result([_read(store, wanted) if wanted else None for store in stores])


def _read(store: Path, wanted: Metric) -> Reading:
    folder = open_case(store).folder
    with query.sql_errors(), query.connect(folder) as connection:
        (duration_ns,) = connection.execute("SELECT max(try_cast(duration_ns AS BIGINT)) FROM capture").fetchone() or (
            None,
        )
        return read(connection, wanted, duration_ns)

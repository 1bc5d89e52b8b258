"""Compute the figure of each capture for a server that keeps it: ``known`` of ``perfcase.operations.history``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from perfcase.fleet.metric import Reading
from perfcase.fleet.readings import read_all
from perfcase.operations.history import Agg, Measure, ViewName, figure, loaded
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
        PerfcaseError: there is no such view or column (not_found), a name is missing (usage), or it fails in all captures.
    """
    wanted = figure(request.view, request.measure, request.agg)

    def quiet(_name: str, _number: int, _of: int) -> None:
        pass

    fleet = loaded(stores, quiet)
    found = read_all(wanted, {capture.name: capture for capture in fleet.captures}, quiet) if wanted else {}
    return Result([found.get(str(store)) for store in stores])

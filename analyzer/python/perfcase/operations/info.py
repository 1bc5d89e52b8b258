"""Describe a capture: host, kernel, command, sources, what each lost, what is missing and how to record it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perfcase.case import store
from perfcase.case.inspection import (
    Fact,
    facts_of_case,
    facts_of_manifest,
    inspect,
    sources_of_case,
    sources_of_manifest,
)
from perfcase.case.opening import Opened
from perfcase.operations.request import BaseRequest
from perfcase.terminal import render


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """A request without options."""


@dataclass(frozen=True)
class Result:
    """The description of a capture."""

    facts: Sequence[Fact]
    sources: Sequence[dict[str, Any]]
    described: dict[str, Any] | None = None
    """The manifest, the members and the problems of an archive; None for an import."""

    @property
    def text(self) -> str:
        """Return everything as JSON."""
        shown = {"facts": dict(self.facts), "sources": self.sources, **(self.described or {})}
        return json.dumps(shown, indent=1, ensure_ascii=False) + "\n"

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``."""
        render.write_text(self.text, output)


def run(_request: Request, case: Opened) -> Result:
    """Describe a capture from its tables.

    Raises:
        PerfcaseError: the capture cannot be opened (input).
    """
    return Result(facts_of_case(case.connection), sources_of_case(case.connection))


def of_file(file: Path, opened: Callable[[], Opened]) -> Result:
    """Describe FILE. An archive needs no import; for other files, ``opened`` imports them and the description comes from the tables.

    Raises:
        PerfcaseError: the capture cannot be read (input).
    """
    described = None if store.is_imported(file) else inspect(file)
    manifest = described["manifest"] if described else None
    if manifest:
        return Result(facts_of_manifest(manifest), sources_of_manifest(manifest), described)
    with opened() as case:
        return replace(run(Request(), case), described=described)

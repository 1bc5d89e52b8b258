"""What a capture is: host, kernel, command; its sources, what each lost, what is missing and how to record it."""

from __future__ import annotations

import json
import sys
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
from perfcase.operations.request import Asked
from perfcase.operations.result import writing


@dataclass(frozen=True, kw_only=True)
class Request(Asked):
    """Nothing can be chosen."""


@dataclass(frozen=True)
class Result:
    """What a capture says about itself."""

    facts: Sequence[Fact]
    sources: Sequence[dict[str, Any]]
    described: dict[str, Any] | None = None
    """What the reader of archives says: the manifest, the members, problems. An import has none of it."""

    @property
    def text(self) -> str:
        """All of it as JSON."""
        shown = {"facts": dict(self.facts), "sources": self.sources, **(self.described or {})}
        return json.dumps(shown, indent=1, ensure_ascii=False) + "\n"

    def write(self, output: Path | None = None) -> None:
        """See ``perfcase.operations.result.Result``."""
        if output is None:
            sys.stdout.write(self.text)
            return
        with writing(output) as partial:
            partial.write_text(self.text, encoding="utf-8")


def run(_request: Request, case: Opened) -> Result:
    """What the tables of a capture say.

    Raises:
        PerfcaseError: the capture cannot be opened (input).
    """
    return Result(facts_of_case(case.connection), sources_of_case(case.connection))


def of_file(file: Path, opened: Callable[[], Opened]) -> Result:
    """What FILE is. An archive tells without an import; where it does not, ``opened`` imports it and its tables tell.

    Raises:
        PerfcaseError: the capture cannot be read (input).
    """
    described = None if store.is_imported(file) else inspect(file)
    manifest = described["manifest"] if described else None
    if manifest:
        return Result(facts_of_manifest(manifest), sources_of_manifest(manifest), described)
    with opened() as case:
        return replace(run(Request(), case), described=described)

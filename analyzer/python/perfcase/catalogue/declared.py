"""What the header of a view says of how two captures are compared in it.

-- diff by: comm, name                  the keys: names and paths, never ids; rows with equal keys are taken together. -: no keys
-- diff sum: call_count, total_ns       amounts: added up, then per second of recording
-- diff level: resident_bytes           what is there at a time: added up over rows of one time, averaged over time
-- diff mean: ipc by cycles, util_ratio averages: over the rows, weighted by what stands behind 'by' (else by time)
-- diff max: max_ns                     the largest
-- diff median: bucket_min_ns by count  of a histogram: the range that its middle lies in
-- diff per cpu: context_switch_count   amounts of the whole machine: where CPU counts differ, per second and CPU
-- diff where: cpu = 'all'              only these rows
-- diff weight: 0.6                     how much a change here says about the cause, from 0 to 1, beside those of other views
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

KINDS = ("sum", "level", "mean", "max", "median")
WEIGHT = 0.5
"""The weight of a view that states none."""

_ENTRIES = frozenset({"by", *KINDS, "per cpu", "apart", "whole", "where", "weight"})
_ID = re.compile(r"(.*_)?(utid|upid|pid|tid|cpu|fd|inode|snapshot|id)|((line|lock|from|to)_)?address")


@dataclass(frozen=True)
class Measure:
    """A column that is compared."""

    name: str
    kind: str
    by: str | None = None
    """SQL of the weight of a row."""
    per_cpu: bool = False
    is_apart: bool = False
    """Whether it is one of the main ones, each of which has a line of its own."""


@dataclass(frozen=True)
class Declared:
    """How a view is compared."""

    keys: tuple[str, ...]
    measures: tuple[Measure, ...]
    whole: str | None
    where: str | None
    weight: float


def is_entry(key: str) -> bool:
    """Return whether a header entry declares how to compare."""
    return key.startswith("diff ") and key.removeprefix("diff ") in _ENTRIES


def parse(entries: Mapping[str, str], columns: Iterable[str]) -> Declared | None:
    """Return the entries of one header, by key; None where it has none. A ValueError says what is wrong with them."""
    found = {key.removeprefix("diff "): text for key, text in entries.items()}
    if not found:
        return None
    if "by" not in found:
        raise ValueError("diff entries without 'diff by'")
    known = set(columns)
    keys = () if found["by"] == "-" else tuple(_list(found["by"]))
    per_cpu = set(_list(found.get("per cpu", "")))
    apart = set(_list(found.get("apart", "")))
    measures = tuple(
        Measure(name, kind, by.strip() or None, name in per_cpu, name in apart)
        for kind in KINDS
        for name, _, by in (entry.partition(" by ") for entry in _list(found.get(kind, "")))
    )
    names = [measure.name for measure in measures]
    unknown = {*keys, *names, *per_cpu, *apart, *_list(found.get("whole", ""))} - known
    if unknown:
        raise ValueError(f"diff names no column of the view: {', '.join(sorted(unknown))}")
    if not measures or len(set(names)) < len(names) or (per_cpu | apart) - set(names):
        raise ValueError("diff needs measures, each of them once")
    if any(_ID.fullmatch(key) for key in keys):
        raise ValueError("diff by an id: two captures share names, not ids")
    if any(measure.kind == "median" and not measure.by for measure in measures):
        raise ValueError("diff median needs 'by' and the count")
    return Declared(keys, measures, found.get("whole"), found.get("where"), float(found.get("weight", WEIGHT)))


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]

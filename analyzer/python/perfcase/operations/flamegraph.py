"""Draw a flame graph, or return its tree."""

from __future__ import annotations

import json
from dataclasses import dataclass

from perfcase.case.opening import Opened
from perfcase.catalogue.schema import literal
from perfcase.errors import PerfcaseError
from perfcase.operations import fields
from perfcase.operations.result import Text
from perfcase.stacks.fetching import (
    BLAME,
    BLAME_TITLE,
    OFF_CPU,
    OFF_CPU_TITLE,
    OFF_WAKE,
    OFF_WAKE_NS,
    OFF_WAKE_TITLE,
    SAMPLES,
    WORKLOAD,
    blame_stacks,
    chosen_event,
    event_counts,
    left_out,
    off_cpu_stacks,
    off_wake_stacks,
    sample_stacks,
)
from perfcase.stacks.flamegraph import FlameGraph
from perfcase.stacks.shaping import Shaped
from perfcase.stacks.tree import Tree
from perfcase.text import safe


@dataclass(frozen=True, kw_only=True)
class Request(fields.OfGraph):
    """Which samples or waits are counted.

    Raises:
        PerfcaseError: the fields are not compatible (usage).
    """

    event: fields.event("Use the samples of this event. Default: a clock.") = None
    off_cpu: fields.OffCpu = False
    wakers: fields.Wakers = False
    blame: fields.Blame = False
    workload: fields.Workload = False
    where: fields.where(
        "Use only these samples or waits: a condition on comm, tid, pid, cpu, ts_ns; for waits also state, duration_ns."
    ) = None
    fmt: fields.GraphForm = "svg"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.check_off_cpu(self.off_cpu, self.wakers, self.event)
        if self.blame and (self.off_cpu or self.event):
            other = "--off-cpu" if self.off_cpu else "--event"
            raise PerfcaseError(
                "usage", f"--blame and {other} exclude each other", "--blame counts waits of threads with work"
            )


def run(request: Request, case: Opened) -> Text:
    """Draw a flame graph: one SVG file, or the tree that it shows, or what stands beside it.

    Raises:
        PerfcaseError: there are no such samples (not_found), the condition is wrong (sql).
    """
    event, given, connection = request.event, request.where, case.connection
    where = f"({WORKLOAD})" + (f" AND ({given}\n)" if given else "") if request.workload else given
    events: list[tuple[str, str, int]] = []
    if request.blame:
        counted, stacks, what, unit = (BLAME, "duration_ns", given), blame_stacks(connection, where), BLAME_TITLE, "ns"
    elif request.off_cpu:
        counted = (OFF_WAKE, OFF_WAKE_NS, given) if request.wakers else (OFF_CPU, "duration_ns", given)
        stacks = off_wake_stacks(connection, where) if request.wakers else off_cpu_stacks(connection, where)
        what, unit = OFF_WAKE_TITLE if request.wakers else OFF_CPU_TITLE, "ns"
    else:
        events = event_counts(connection, is_whole=not case.only)
        what, unit = chosen_event({name: unit for name, unit, _ in events}, event)
        counted = (f"SELECT * FROM ({SAMPLES}) WHERE event = {literal(what)}", "coalesce(period, 1)", given)
        stacks = sample_stacks(connection, what, where)
    aside = left_out(connection, *counted) if request.workload else []
    shaping = request.shaping()
    shaped = Shaped(stacks, shaping)
    title = f"{case.file.name}: {what}" + "".join(f", {part}" for part in (*case.only, given, *shaping.words()) if part)
    if request.fmt == "svg":
        graph = FlameGraph(shaped, title=title, unit=unit)
        graph.note_left_out(shaped.left_out)
        return Text(graph.svg())
    found = request.answer(request.fmt, Tree(shaped))
    if request.fmt != "json":
        return Text(json.dumps(found, separators=(",", ":")) + "\n")
    listed = [dict(zip(("event", "unit", "sample_count"), each, strict=True)) for each in events]
    document = {
        "title": safe(title), "what": what, "unit": unit, "events": listed, "left_out": aside,
        "stacks_left_out": shaped.listed(), "whole_objects": [dso for dso in request.collapse if shaped.is_whole(dso)], "is_inverted": shaping.is_inverted, **found,
    }  # fmt: skip
    return Text(json.dumps(document, separators=(",", ":")) + "\n")

"""Draw the flame graph of one capture, coloured by the difference from another."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from perfcase.case.opening import Opened
from perfcase.diff import stack_page
from perfcase.diff.stacks import profiles
from perfcase.operations import fields
from perfcase.operations.diff import AWindow, BWindow, Per, both_sides
from perfcase.operations.request import Option
from perfcase.operations.result import Text
from perfcase.stacks.fetching import NOT_IDLE, WORKLOAD


@dataclass(frozen=True, kw_only=True)
class Request(fields.OfGraph):
    """Which stacks are compared.

    Raises:
        PerfcaseError: the fields are not compatible (usage).
    """

    a_window: AWindow = None
    b_window: BWindow = None
    per: Per = None
    event: fields.event("Use the samples of this event. Default: a clock.") = None
    off_cpu: fields.OffCpu = False
    wakers: fields.Wakers = False
    where: fields.where(
        "Use only these samples or waits: a condition on comm, tid, pid, cpu, ts_ns. Default: neither the idle loop's nor the recorder's."
    ) = None
    workload: Annotated[
        bool,
        Option("Leave out kernel threads, too. ", flags=("--workload",)),
    ] = False
    fmt: fields.GraphForm = "svg"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.check_off_cpu(self.off_cpu, self.wakers, self.event)


def run(request: Request, a: Opened, b: Opened | None = None) -> Text:
    """Draw the flame graph of b, coloured by the difference from a; or return the tree of both.

    Raises:
        PerfcaseError: there are no such samples, or the event of ``per`` is not on both sides (not_found).
    """
    with both_sides(a, b, request.a_window, request.b_window, request.per) as (old, new):
        where = request.where or NOT_IDLE
        if request.workload:
            where = f"({WORKLOAD}) AND ({where}\n)"
        stacks = profiles(old, new, request.event, off_cpu=request.off_cpu, wakers=request.wakers, where=where)
        if request.fmt == "svg":
            return Text(stack_page.flamegraph(old, new, *stacks, request.shaping()))
        answer = partial(request.answer, request.fmt)
        found = stack_page.flamegraph_tree(old, new, *stacks, request.shaping(), answer, is_tree=request.fmt == "json")
        return Text(json.dumps(found, separators=(",", ":")) + "\n")

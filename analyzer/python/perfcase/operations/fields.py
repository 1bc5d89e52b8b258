"""Fields that several requests have, each described once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from perfcase.operations.request import BaseRequest, Option
from perfcase.stacks import beside
from perfcase.stacks.shaping import Shaping
from perfcase.stacks.tree import Tree, drawn
from perfcase.terminal import render

Format = Annotated[
    render.Format,
    Option(
        "csv, json, arrow (IPC stream) or parquet.",
        flags=("--format", "-f"),
        query="format",
        for_people={"table": "for people"},
    ),
]
Limit = Annotated[
    int | None,
    Option(
        "Print at most N rows; 0 prints all. Default for a table: 1,000.", flags=("--limit", "-n"), metavar="N", min=0
    ),
]
OffCpu = Annotated[bool, Option("Show off-CPU time by callchain instead of samples.", flags=("--off-cpu",))]
Wakers = Annotated[
    bool,
    Option(
        "With --off-cpu: show only sleeps, with the callchain of the waker, inverted, on top of each.",
        flags=("--wakers",),
    ),
]
Workload = Annotated[
    bool,
    Option("Leave out the idle loop, kernel threads and the recorder.", flags=("--workload",)),
]
Blame = Annotated[
    bool,
    Option(
        "Show what threads waited for while they had work, followed to the cause: a request, a disk, another thread, …",
        flags=("--blame",),
    ),
]


SHAPED_MAX = 20
"""How many functions or objects a request may name."""


def event(text: str) -> Any:  # noqa: ANN401 - a type
    """Return the field for the event whose samples an operation uses. ``text``: its help."""
    return Annotated[str | None, Option(text, flags=("--event", "-e"), metavar="NAME", length_max=200)]


def where(text: str) -> Any:  # noqa: ANN401 - a type
    """Return the field for a condition in SQL. ``text``: its help."""
    option = Option(text, flags=("--where", "-w"), metavar="SQL", length_max=10_000, example="comm = 'java'")
    return Annotated[str | None, option]


def plot(text: str) -> Any:  # noqa: ANN401 - a type
    """Return the field that says whether rows are drawn. ``text``: what is drawn."""
    more = " This is the default on a terminal."
    option = Option(text + more, flags=("--plot/--no-plot",), is_of_terminals=True, is_default_shown=False)
    return Annotated[bool | None, option]


def complete_view(incomplete: str) -> list[tuple[str, str]]:
    """Complete names of views for the shell."""
    return [(view.name, view.description) for view in load_views().values() if view.name.startswith(incomplete)]


def view(text: str, **more: Any) -> Option:  # noqa: ANN401 - what an Option has
    """Return the option for the name of a view. ``text``: its help."""
    return Option(
        text, **{"flags": ("--view",), "metavar": "NAME", "length_max": 200, "complete": complete_view, **more}
    )


def check_off_cpu(off_cpu: bool, wakers: bool, event: str | None) -> None:
    """Check that --off-cpu, --wakers and --event are compatible.

    Raises:
        PerfcaseError: they are not (usage).
    """
    if off_cpu and event:
        raise PerfcaseError(
            "usage",
            "--off-cpu and --event exclude each other",
            "--off-cpu counts time off the CPU, --event counts samples",
        )
    if wakers and not off_cpu:
        raise PerfcaseError("usage", "--wakers needs --off-cpu")


@dataclass(frozen=True, kw_only=True)
class Form(BaseRequest):
    """The format of rows."""

    fmt: Format = "table"


@dataclass(frozen=True, kw_only=True)
class ChosenStacks(BaseRequest):
    """Which callchains count (perfcase.stacks.shaping)."""

    include: Annotated[
        tuple[str, ...],
        Option(
            "Use only callchains that have a frame of this name. With several: of each.",
            metavar="NAME", length_max=SHAPED_MAX, example="do_syscall_64",
        ),
    ] = ()  # fmt: skip
    exclude: Annotated[
        tuple[str, ...],
        Option(
            "Leave out callchains that have a frame of this name.",
            metavar="NAME", length_max=SHAPED_MAX, example="schedule",
        ),
    ] = ()  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class OfStacks(ChosenStacks):
    """What is made of callchains before they are added up (perfcase.stacks.shaping)."""

    collapse: Annotated[
        tuple[str, ...],
        Option(
            "Draw neighbours in a callchain that lie in this object as one frame of its name.",
            metavar="OBJECT", length_max=SHAPED_MAX, example="libc.so.6",
        ),
    ] = ()  # fmt: skip
    merge_recursion: Annotated[
        bool,
        Option(
            "Leave out frames that repeat the frames directly before them: A A is A, A B A B is A B.",
            flags=("--merge-recursion",),
        ),
    ] = False
    invert: Annotated[bool, Option("Draw the function that ran at the root.", flags=("--invert",))] = False

    def shaping(self) -> Shaping:
        """Return them as ``perfcase.stacks.shaping`` has them."""
        return Shaping(self.include, self.exclude, frozenset(self.collapse), self.merge_recursion, self.invert)


@dataclass(frozen=True, kw_only=True)
class OfGraph(OfStacks):
    """What is asked of the tree of a flame graph besides the tree (perfcase.stacks.beside)."""

    node: Annotated[
        int, Option("With --format functions: only what is in this node of the tree.", metavar="N", min=0)
    ] = 0
    find: Annotated[
        str,
        Option(
            "With --format functions: only functions with this text in their name.", metavar="TEXT", length_max=1000
        ),
    ] = ""
    of: Annotated[str, Option("With --format neighbours: the function.", metavar="FUNCTION", length_max=1000)] = ""

    def answer(self, form: str, tree: Tree) -> dict[str, Any]:
        """Return what a form of JSON has of a tree."""
        if form == "functions":
            return beside.functions(tree, self.node, self.find, is_inverted=self.invert)
        if form == "neighbours":
            return beside.neighbours(tree, self.of, is_inverted=self.invert)
        return drawn(tree)


GraphForm = Annotated[
    Literal["svg", "json", "functions", "neighbours"],
    Option(
        "svg, or json: the tree as lists, for programs; functions: of a node of it, those with the most first;"
        " neighbours: the callers and callees of a function.",
        flags=("--format", "-f"),
        query="format",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Threads(BaseRequest):
    """Some processes, threads, CPUs or control groups of a capture (perfcase.case.scope)."""

    process: Annotated[
        tuple[str, ...], Option("Use only processes with this name or pid.", length_max=20, example="java")
    ] = ()
    thread: Annotated[
        tuple[str, ...], Option("Use only threads with this name or tid.", length_max=20, example="worker-*")
    ] = ()
    cpu: Annotated[tuple[str, ...], Option("Use only what happened on these CPUs.", length_max=20, example="0-3")] = ()
    cgroup: Annotated[
        tuple[str, ...], Option("Use only what is in this control group.", length_max=20, example="/web")
    ] = ()

    def conditions(self) -> tuple[str, ...]:
        """Return them as conditions of ``perfcase.case.scope``."""
        keys = ("process", "thread", "cpu", "cgroup")
        return tuple(f"{key}={value}" for key in keys for value in getattr(self, key))


@dataclass(frozen=True, kw_only=True)
class Part(Threads):
    """The same, with a window of time."""

    window: Annotated[str | None, Option("Use only this window of time.", length_max=50, example="10s..20s")] = None

    def conditions(self) -> tuple[str, ...]:
        """Return them as conditions of ``perfcase.case.scope``."""
        return (*((f"window={self.window}",) if self.window is not None else ()), *super().conditions())

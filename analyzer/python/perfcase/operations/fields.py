"""Fields that several requests have, each described once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from perfcase.operations.request import Asked, Option
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
    Option("At most N rows; 0: all. Default for a table: 1,000.", flags=("--limit", "-n"), metavar="N", min=0),
]
OffCpu = Annotated[
    bool, Option("Where threads left their CPUs, by the time that they stayed away; not samples.", flags=("--off-cpu",))
]
Wakers = Annotated[
    bool,
    Option(
        "With --off-cpu: only sleeps; on each callchain stands the waker's, upside down.",
        flags=("--wakers",),
    ),
]


def event(told: str) -> Any:  # noqa: ANN401 - a type
    """The event whose samples an operation takes; ``told``: what it does there."""
    return Annotated[str | None, Option(told, flags=("--event", "-e"), metavar="NAME", length_max=200)]


def where(told: str) -> Any:  # noqa: ANN401 - a type
    """A condition; ``told``: on what."""
    option = Option(told, flags=("--where", "-w"), metavar="SQL", length_max=10_000, example="comm = 'java'")
    return Annotated[str | None, option]


def plot(told: str) -> Any:  # noqa: ANN401 - a type
    """Whether rows are drawn; ``told``: how."""
    more = " On a terminal they are, elsewhere only if asked."
    option = Option(told + more, flags=("--plot/--no-plot",), is_of_terminals=True, is_default_shown=False)
    return Annotated[bool | None, option]


def complete_view(incomplete: str) -> list[tuple[str, str]]:
    """Shell completion of view names."""
    return [(view.name, view.description) for view in load_views().values() if view.name.startswith(incomplete)]


def view(told: str, **more: Any) -> Option:  # noqa: ANN401 - what an Option has
    """The name of a view; ``told``: what for."""
    return Option(
        told, **{"flags": ("--view",), "metavar": "NAME", "length_max": 200, "complete": complete_view, **more}
    )


def check_off_cpu(off_cpu: bool, wakers: bool, event: str | None) -> None:
    """Whether these go together.

    Raises:
        PerfcaseError: they do not (usage).
    """
    if off_cpu and event:
        raise PerfcaseError("usage", "--off-cpu counts time off the CPU, --event samples", "give one of them")
    if wakers and not off_cpu:
        raise PerfcaseError("usage", "--wakers is of --off-cpu")


@dataclass(frozen=True, kw_only=True)
class Form(Asked):
    """As what rows come."""

    fmt: Format = "table"


@dataclass(frozen=True, kw_only=True)
class Threads(Asked):
    """The part of a capture that some of its processes, threads, CPUs or control groups are (perfcase.case.scope)."""

    process: Annotated[
        tuple[str, ...], Option("Only processes of this name or pid.", length_max=20, example="java")
    ] = ()
    thread: Annotated[
        tuple[str, ...], Option("Only threads of this name or tid.", length_max=20, example="worker-*")
    ] = ()
    cpu: Annotated[tuple[str, ...], Option("Only what happened there.", length_max=20, example="0-3")] = ()
    cgroup: Annotated[
        tuple[str, ...], Option("Only what is in this control group.", length_max=20, example="/web")
    ] = ()

    def conditions(self) -> tuple[str, ...]:
        """As ``perfcase.case.scope`` takes them."""
        keys = ("process", "thread", "cpu", "cgroup")
        return tuple(f"{key}={value}" for key in keys for value in getattr(self, key))


@dataclass(frozen=True, kw_only=True)
class Part(Threads):
    """The same, and a time."""

    window: Annotated[str | None, Option("Only this time of it.", length_max=50, example="10s..20s")] = None

    def conditions(self) -> tuple[str, ...]:
        """As ``perfcase.case.scope`` takes them."""
        return (*((f"window={self.window}",) if self.window is not None else ()), *super().conditions())

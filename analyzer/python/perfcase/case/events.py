"""Events as text: what trace-cmd report and perf script print of a capture."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from perfcase.case.store import import_core
from perfcase.errors import PerfcaseError

PRINTER = (sys.executable, "-P", "-m", "perfcase.case.eventprinter")
"""The command that starts the process with libtraceevent in it; -P: no module comes from the current folder."""

DEADLINE_S = 20.0
"""How long one event may take before that process is ended and the event reported."""


def print_events(
    file: Path,
    on_text: Callable[[str], object],
    on_problem: Callable[[int | None, str], object],
    *,
    event: str | None = None,
    limit: int | None = None,
) -> None:
    """Hand the lines of a capture's events to ``on_text``, and what could not be printed to ``on_problem``.

    ``event`` is ``sched_switch`` or ``sched:sched_switch``; None prints all. An imported folder holds tables, not the
    recording: that is an error which says so.
    """
    if (file / "import.json").is_file():
        raise PerfcaseError(
            "input", f"{file}: an imported folder does not hold the recording", "give the capture it was made from"
        )
    import_core().print_events(str(file), list(PRINTER), on_text, on_problem, event, limit, DEADLINE_S)

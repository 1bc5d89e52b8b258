"""perfcase record: the recorder, with all its own options."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from perfcase.errors import PerfcaseError

CONTEXT_SETTINGS = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "help_option_names": [],
}


def recorder() -> Path:
    """The recorder's entry: package data of the wheel, a link to recorder/ in a clone."""
    return Path(__file__).parent.parent / "_recorder" / "perfcase-record"


def command(context: typer.Context) -> None:
    """Record this host into a .perfcase; perfcase record --help shows the recorder's own options.

    The recorder is plain shell and one small C helper: copy recorder/ to a host that has no Python.

    Example: perfcase record --duration 30 -o incident.perfcase
    """
    script = recorder()
    if not script.is_file():
        raise PerfcaseError("environment", f"{script}: the recorder is missing", "reinstall perfcase or run make setup")
    os.execv("/bin/sh", ["/bin/sh", str(script), *context.args])

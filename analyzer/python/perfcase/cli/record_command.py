"""perfcase record: run the recorder with its own options."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from perfcase.catalogue.schema import package_data

CONTEXT_SETTINGS = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "help_option_names": [],
}


def recorder() -> Path:
    """Return the path of the recorder."""
    return package_data("recorder") / "perfcase-record"


def command(context: typer.Context) -> None:
    """Record this host into a .perfcase archive. perfcase record --help shows the options of the recorder.

    The recorder is plain shell and one small C helper. On a host without Python, copy the folder recorder/ to it.

    Example: perfcase record --duration 30 -o incident.perfcase
    """
    os.execv("/bin/sh", ["/bin/sh", str(recorder()), *context.args])

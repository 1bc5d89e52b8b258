"""The child process of ``perfcase.case.enclosed``: gives up its rights, calls a function of the core, and says how that went.

It writes lines of JSON to standard output: ``{"fence": [files, calls]}`` first, ``{"now": [phase, records, read_ns]}`` while it works, and
``{"result"}``, ``{"error": [kind, message, hint]}`` or ``{"fault"}`` last.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from perfcase.case import sandbox

NAME = "perfcase-import"
"""What the kernel calls it."""
_REPORT_INTERVAL_S = 0.1


def work(job: dict[str, Any]) -> None:
    """Do one job, and end the process. Standard output is the parent's pipe."""
    # Ctrl-C is the parent's: it ends this process. A write beyond RLIMIT_FSIZE shall fail, not kill.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sandbox.end_with(job["parent"])
    sandbox.be_called(NAME)
    if job["scratch"]:
        os.environ["TMPDIR"] = job["scratch"]
    try:
        # Loaded before the walls: where it is, only a clone knows.
        from perfcase import _core

        readable = [Path(path) for path in job["readable"]] + [*sandbox.OWN]
        writable, listable = (map(Path, job[name]) for name in ("writable", "listable"))
        _say("fence", sandbox.fence(readable, *writable, listable=listable))
        more = [_Progress().report] if job["has_progress"] else []
        _say("result", getattr(_core, job["call"])(*job["arguments"], *more))
    except BaseException as error:
        known = [getattr(error, name, None) for name in ("kind", "message", "hint")]
        _say(*(("error", known) if known[0] else ("fault", f"{type(error).__name__}: {error}")))
    os._exit(0)


class _Progress:
    """Says how far the core is, not more often than people see. The last word of a phase is always said."""

    def __init__(self) -> None:
        self._said_s, self._phase = 0.0, ""
        self._unsaid: tuple | None = None

    def report(self, phase: str, records: int, read_ns: tuple[int, int] | None = None) -> None:
        now = (phase, records, read_ns)
        if phase != self._phase:
            if self._unsaid:
                _say("now", self._unsaid)
        elif time.monotonic() - self._said_s < _REPORT_INTERVAL_S:
            self._unsaid = now
            return
        self._said_s, self._phase, self._unsaid = time.monotonic(), phase, None
        _say("now", now)


def _say(what: str, value: object) -> None:
    # Not print: the buffers of a copied process hold what the parent has not written yet.
    line = json.dumps({what: value}).encode() + b"\n"
    while line:
        line = line[os.write(1, line) :]


def main() -> None:
    """Read the job from standard input: a process that is not a copy of its parent."""
    work(json.loads(sys.stdin.buffer.readline()))

"""The process that prints events with libtraceevent, within limits: ``python -m perfcase.case.eventprinter``.

libtraceevent crashes on some damaged formats and hangs on some damaged records. Here that costs one event: the process
that started this one reports it and starts another. Requests come on standard input, answers go to standard output;
``analyzer/crates/perfcase-import/src/traceevent/protocol.rs`` says what they are.
"""

from __future__ import annotations

import resource
import signal
import sys

MEMORY_BYTES = 2 << 30
"""Address space: names of a large kernel take some 100 MB; damaged input asks for more than there is."""

CPU_SECONDS = 3600
"""Processor time, should the process that started this one be gone."""


def limit() -> None:
    """Bind this process to its limits; they cannot be raised again."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    # Ctrl-C is for the process in front; this one ends when its input does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def main() -> int:
    """Answer until the input ends."""
    limit()
    from perfcase import _core

    try:
        _core.run_event_printer()
    except OSError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

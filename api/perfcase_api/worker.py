"""The process of one analysis: it loads what it needs, waits for a job, gives up its rights, runs a command line, ends.

``python -m perfcase_api.worker`` reads one line of JSON from standard input: ``{"arguments", "readable", "memory_bytes",
"cpu_seconds", "scratch", "scratch_bytes"}``. Output and exit code are the command line's own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import perfcase

READY = b"ready\n"
"""Written to standard error when everything is loaded."""


def main() -> None:
    """Runs one job."""
    # The server's own signals (Ctrl-C in a terminal) are not ours: it ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A write beyond RLIMIT_FSIZE shall fail, not kill.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _load()
    os.write(2, READY)
    line = sys.stdin.buffer.readline()
    if not line:
        return
    job = json.loads(line)
    from perfcase_api import sandbox

    tempfile.tempdir = job["scratch"]
    is_fenced = sandbox.fence([Path(path) for path in (*job["readable"], *_OWN)], Path(job["scratch"]))
    sandbox.limit(
        memory_bytes=job["memory_bytes"],
        cpu_seconds=job["cpu_seconds"],
        file_bytes=job["scratch_bytes"] if is_fenced else 0,
    )
    from perfcase.cli.main import run

    code = run(job["arguments"])
    sys.stdout.flush()
    # Not sys.exit: threads of DuckDB need not be waited for, nobody will miss what they do.
    os._exit(code)


# Code and its data, which a clone has behind links, and what libraries read when they are used first.
_PACKAGE = Path(perfcase.__file__).parent
_OWN = tuple(
    dict.fromkeys(
        str(path)
        for path in (*sys.path, sys.prefix, sys.base_prefix, *_PACKAGE.glob("_*"), "/usr/lib", "/lib", "/lib64",
                     "/usr/share/zoneinfo", "/dev/null", "/proc/self", "/proc/meminfo", "/sys/fs/cgroup", "/etc/ld.so.cache")
        if str(path)
    )
)  # fmt: skip


def _load() -> None:
    """What every command needs, so that the first job does not wait for it."""
    from importlib import import_module

    import duckdb

    from perfcase import schema, views
    from perfcase.cli.main import COMMANDS, build_app

    for name in COMMANDS:
        import_module(f"perfcase.cli.{name}_command")
    build_app()
    schema.load_tables()
    views.load_views()
    duckdb.connect().execute("SELECT 1").fetchall()


if __name__ == "__main__":
    main()

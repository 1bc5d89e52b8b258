"""The process of one import, a copy of perfcase_api.worker: it makes ``FOLDER/case``.

It prints a line of JSON for each step; the last one has the result. A capture is an untrusted file: before the process opens it, the
process gives up all rights except to read it and to write into FOLDER (perfcase.case.sandbox).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from perfcase.case import database, facts, sandbox, store
from perfcase.case.opening import Opened
from perfcase.errors import PerfcaseError
from perfcase.fleet.figures import keep_all
from perfcase.report.writer import prepare
from perfcase_api import first_page

_REPORT_INTERVAL_S = 0.1
NAME = "perfcase-import"
"""What the kernel calls it."""


def run(file: Path, folder: Path, name: str, limits: dict[str, int]) -> None:
    """Import, then read what the catalogue lists. ``name``: what the capture is called, for people: all files of captures are named alike."""
    sandbox.be_called(NAME)
    enclose(file, folder, limits)
    last, last_phase = 0.0, ""

    def progress(phase: str, records: int, read_ns: tuple[int, int] | None = None) -> None:
        nonlocal last, last_phase
        if phase != last_phase or time.monotonic() - last >= _REPORT_INTERVAL_S:
            last, last_phase = time.monotonic(), phase
            known = {"done": read_ns[0], "total": read_ns[1], "unit": "ns"} if read_ns else {}
            say({"phase": phase, "records": records, **known})

    def answered(done: int, total: int) -> None:
        say({"phase": "first page", "records": 0, "done": done, "total": total, "unit": "questions"})

    try:
        # The server's name of the capture, which its tables have as well: the folder that the file is in.
        options = {"capture_id": file.parent.name, "name": name}
        imported = store.open_case(file, folder / "case", progress, options=options)
        progress("findings", 0)
        known = facts.told(imported.info) or facts.Facts()
        with Opened(imported) as opened:
            connection = opened.connection
            prepare(connection)
            found = connection.execute("SELECT finding, severity, subject, message FROM finding").fetchall()
            progress("figures", 0)
            figures = keep_all(connection, is_thorough=True)
            answers = first_page.answers(imported, opened, known.duration_ns, answered)
        capture = {
            "host": known.host, "kernel": known.kernel, "started_ns": known.started_realtime_ns, "duration_ns": known.duration_ns,
            "remark": known.note, "ticket": known.ticket,
        }  # fmt: skip
        labels = (known.labels or "").split(",")
        say({"capture": capture, "labels": labels, "findings": found, "figures": figures, "answers": answers})
    except PerfcaseError as error:
        # Its own name is for people, the store's path for nobody.
        say({"error": str(error).removeprefix(f"{file}: ").replace(str(file), name)})


def enclose(file: Path, folder: Path, limits: dict[str, int]) -> None:
    """Give up every right but that to import."""
    # The template is made while the cache may be written; an import gets a copy, in a cache of its own.
    template = database.template()
    cache, scratch = folder / "cache" / "perfcase", folder / "tmp"
    for place in (cache, scratch):
        place.mkdir(parents=True)
    shutil.copyfile(template, cache / template.name)
    os.environ.update(XDG_CACHE_HOME=str(cache.parent), TMPDIR=str(scratch))
    tempfile.tempdir = str(scratch)
    store.import_core()
    sandbox.fence([file, *sandbox.OWN], folder)
    sandbox.limit(**limits)


def say(what: dict) -> None:
    """Print one line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()

"""The process of one import: ``python -m perfcase_api.import_worker FILE CASE``; a line of JSON for each step, the last says how it ended."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from perfcase import query, store
from perfcase.errors import PerfcaseError
from perfcase_api.uploads import LABEL_MAX, LABELS_MAX, clean_ticket

_EVERY_S = 0.1
_COLUMNS = (
    "hostname::VARCHAR, kernel_release::VARCHAR, try_cast(start_realtime_ns AS BIGINT), try_cast(duration_ns AS BIGINT),"
    " note::VARCHAR, ticket::VARCHAR, coalesce(labels::VARCHAR, '')"
)


def main() -> None:
    """Imports, then reads what the catalogue lists."""
    file, case = Path(sys.argv[1]), Path(sys.argv[2])
    last = 0.0

    def progress(phase: str, records: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY_S:
            last = time.monotonic()
            say({"phase": phase, "records": records})

    try:
        imported = store.open_case(file, case, progress)
        say({"phase": "findings", "records": 0})
        row = store.table_row(imported.folder, "capture", _COLUMNS) or (None,) * 7
        names = ("host", "kernel", "started_ns", "duration_ns", "remark", "ticket")
        capture = {**dict(zip(names, row[:6], strict=True)), "ticket": clean_ticket(row[5] or "")}
        labels = [label for label in (row[6] or "").split(",") if 0 < len(label) <= LABEL_MAX]
        with query.connect(imported.folder) as connection:
            found = connection.execute("SELECT finding, severity, subject, message FROM finding").fetchall()
        say({"capture": capture, "labels": labels[:LABELS_MAX], "findings": found})
    except PerfcaseError as error:
        say({"error": str(error)})


def say(what: dict) -> None:
    """One line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Ask every view of an imported folder for all its rows, and write the seconds of each as JSON: ``every_view.py CASE FORMAT FILE``.

It measures what a command and a server do after they have opened the capture: plan and run the query, and write all rows to /dev/null in this
format. The views of the findings are those that the import kept, as every command shows them; each other view is worked out. One that needs more
memory than a question may take has null.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from perfcase.case import query
from perfcase.case.kept import have_findings
from perfcase.case.sharing import FINDINGS
from perfcase.catalogue.schema import quote
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.terminal.render import write_result


def main() -> None:
    """Each view has a connection of its own: nothing is shared between them."""
    seconds: dict[str, float | None] = {}
    case, fmt, told = sys.argv[1:]
    for name in load_views():
        with query.connect(Path(case)) as connection:
            begin = time.monotonic()
            try:
                if name in FINDINGS:
                    have_findings(connection)
                write_result(
                    query.Result(connection, f"SELECT * FROM {quote(name)}"), fmt, Path("/dev/null"), limited=True
                )
                seconds[name] = time.monotonic() - begin
            except PerfcaseError as error:
                if not isinstance(error.__cause__, duckdb.OutOfMemoryException):
                    raise
                seconds[name] = None
    Path(told).write_text(json.dumps(seconds))


if __name__ == "__main__":
    main()

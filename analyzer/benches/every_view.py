"""Ask every view of an imported folder for all its rows, and write the seconds of each as JSON: ``every_view.py CASE FILE``.

The views of the findings are those that the import kept, as every command shows them; each other view is worked out. One that needs
more memory than a question may take has null.
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
from perfcase.lazy import duckdb

_BATCH_ROWS = 10_000


def main() -> None:
    """Each view has a connection of its own: nothing is shared between them."""
    seconds: dict[str, float | None] = {}
    for name in load_views():
        with query.connect(Path(sys.argv[1])) as connection:
            begin = time.monotonic()
            try:
                if name in FINDINGS:
                    have_findings(connection)
                rows = connection.execute(f"SELECT * FROM {quote(name)}")
                while rows.fetchmany(_BATCH_ROWS):
                    pass
                seconds[name] = time.monotonic() - begin
            except duckdb.OutOfMemoryException:
                seconds[name] = None
    Path(sys.argv[2]).write_text(json.dumps(seconds))


if __name__ == "__main__":
    main()

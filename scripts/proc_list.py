"""Write the last lines of recorder/proc.list: the files that tables with ``[file]`` are read from.

``python scripts/proc_list.py [recorder/proc.list]``. A test fails if the lines are not those of ``schema/tables``.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NETWORK = "/proc/net/"
MADE = "/perfcase/"
HEAD = "# The files of tables with [file] in schema/tables. make docs writes these lines.\n"


def written(text: str) -> str:
    """Return the list with the lines that the tables need, after what is written by hand."""
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "schema" / "tables").glob("*/*.toml")]
    lines = sorted(f"system {pattern}\n" for table in tables for pattern in _patterns(table))
    of_networks = (table for table in tables if any(column["name"] == "netns_inode" for column in table["column"]))
    # A host without IPv6 has no sockstat6: in a namespace, too, only what is always there is read.
    names = sorted(pattern.removeprefix(NETWORK).rstrip("*") for table in of_networks for pattern in _patterns(table))
    return text.partition(HEAD)[0] + HEAD + "".join(lines + [f"network {name}\n" for name in names])


def _patterns(table: Mapping[str, Any]) -> list[str]:
    """Return the files of a table; sockstat and sockstat6 as one pattern, because a host without IPv6 has no sockstat6.

    What the recorder puts together (/perfcase) is no file of the host.
    """
    paths = [path for path in table.get("file", {}).get("paths", ()) if not path.startswith(MADE)]
    first = [path for path in paths if not any(path != other and path.startswith(other) for other in paths)]
    return [path + "*" if any(path != other and other.startswith(path) for other in paths) else path for path in first]


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "recorder" / "proc.list"
    place.write_text(written(place.read_text(encoding="utf-8")), encoding="utf-8")

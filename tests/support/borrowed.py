"""Imports that servers of the tests share: each capture is imported once by each state of the code, for all servers and runs.

An import at a server works out every figure, which takes 5 to 10 s of a CPU, and the tests upload the same captures again and again. A server
that borrows gets the folder that another one made of the same bytes, and what its process said at the end. What tests an import at the server
itself starts one that imports (``imports=True``).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.imports import generation

ROOT = Path(__file__).parents[2]
STATES_MAX = 2
"""States of the code whose imports are kept."""
IMPORTS_MAX = 100
"""For one state: some tests make captures that no other run has."""
SAID = "said.json"


def borrow() -> None:
    """Lets the servers of this process borrow."""
    from perfcase_api.imports import Imports

    usual = Imports._run

    async def run(self: Imports, capture_id: str, working: Path) -> dict[str, Any]:
        row = self._catalogue.row("SELECT name FROM capture WHERE capture_id = ?", (capture_id,))
        # All that the process is told; the id is the hash of the bytes.
        told = [capture_id, row["name"] if row else "", repr(self._settings.limits)]
        lender = state() / hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]
        file = self._uploads.file(capture_id)
        with suppress(FileNotFoundError):
            said = json.loads((lender / SAID).read_text())
            shutil.copytree(lender / "case", working / "case")
            _own(working / "case", file)
            return said
        done = await usual(self, capture_id, working)
        if "error" not in done:
            _lend(working / "case", done, lender)
        return done

    Imports._run = run  # type: ignore[method-assign]


def _own(case: Path, file: Path) -> None:
    """Makes a copy the import of this file."""
    from perfcase.case import store

    info = json.loads((case / "import.json").read_text())
    info["source"] = {**info["source"], "path": str(file.absolute()), "stamp": store.stamp(file)}
    (case / "import.json").write_text(json.dumps(info))


def _lend(case: Path, said: dict[str, Any], lender: Path) -> None:
    if sum(1 for _ in lender.parent.iterdir()) >= IMPORTS_MAX:
        return
    with tempfile.TemporaryDirectory(prefix=".", dir=lender.parent) as scratch:
        made = Path(scratch) / "made"
        shutil.copytree(case, made / "case")
        (made / SAID).write_text(json.dumps(said))
        # Another server may have been faster.
        with suppress(OSError):
            made.rename(lender)


@cache
def state() -> Path:
    """The folder for this state of the code and the schema: what is worked out at an import is Python's."""
    digest = hashlib.sha256()
    for place in (ROOT / "analyzer" / "python", ROOT / "api" / "perfcase_api", ROOT / "schema"):
        for path in sorted(path for path in place.rglob("*") if path.suffix in (".py", ".sql", ".toml")):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    states = generation() / "served"
    here = states / digest.hexdigest()[:24]
    here.mkdir(parents=True, exist_ok=True)
    os.utime(here)
    for old in sorted(states.iterdir(), key=lambda path: path.stat().st_mtime)[:-STATES_MAX]:
        shutil.rmtree(old, ignore_errors=True)
    return here

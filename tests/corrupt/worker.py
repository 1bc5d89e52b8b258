"""Imports damaged copies one after the other, in a process of its own: a crash takes nothing else with it.

    python -m tests.corrupt.worker CAPTURE KIND COUNT

Before each import a line `begin SEED`, after it a line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from perfcase import _core
from perfcase.errors import PerfcaseError
from tests.corrupt.damage import Damage, apply

# A few bytes of a damaged file must not make the importer ask for the machine's memory.
ADDRESS_SPACE_BYTES = 4 << 30


def one(data: bytes, damage: Damage, folder: Path) -> dict:
    """What the importer says of one copy."""
    path = folder / "perf.data"
    path.write_bytes(apply(data, damage))
    out = folder / f"{damage.seed}.case"
    out.mkdir()
    begin = time.monotonic()
    try:
        result = _core.import_capture(str(path), str(out), {}, None)
    except PerfcaseError as error:
        return {"seed": damage.seed, "error": str(error), "wall_s": time.monotonic() - begin}
    wall_s = time.monotonic() - begin
    for file in out.rglob("*.parquet"):
        file.unlink()
    tables = {name: rows for name, rows in result["tables"].items() if rows}
    return {"seed": damage.seed, "tables": tables, "issues": result["issues"], "wall_s": wall_s}


def main() -> None:
    """Imports the copies of all seeds."""
    capture, kind, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    data = capture.read_bytes()
    with tempfile.TemporaryDirectory(prefix="perfcase-corrupt-") as folder:
        for seed in range(count):
            print(f"begin {seed}", flush=True)
            print(json.dumps(one(data, Damage(kind, seed), Path(folder))), flush=True)


if __name__ == "__main__":
    main()

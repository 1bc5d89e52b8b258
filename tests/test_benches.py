"""The benches run: what they measure changes, and nobody runs them daily. How fast they are is not asserted here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHES = Path(__file__).parents[1] / "analyzer" / "benches"


def test_names_of_many_addresses() -> None:
    done = subprocess.run(
        [sys.executable, BENCHES / "symbols.py", "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("100,000 addresses in 300 objects named in ")

"""Case studies: what perfcase says of the captures in sample-captures/."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import perfcase

SAMPLES = Path(__file__).parents[2] / "sample-captures"

Told = Callable[..., list[dict[str, str]]]
Printed = Callable[..., str]


@pytest.fixture(scope="session")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """``printed("diff", "a-neighbours/alone.perfcase", …)``: what a command prints of samples; each sample is imported once."""
    copies = tmp_path_factory.mktemp("cases")

    def run(*words: str) -> str:
        for word in words:
            if (SAMPLES / word).is_file() and not (copies / word).exists():
                (copies / word).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SAMPLES / word, copies / word)
        # Standard error says what could not be compared or judged.
        done = perfcase(*words, cwd=copies)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def told(printed: Printed) -> Told:
    """The same as rows."""
    return lambda *words: list(csv.DictReader(io.StringIO(printed(*words, "--format", "csv", "--limit", "0"))))

"""Case studies: what perfcase says of the captures in sample-captures/."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest

from tests.support.studies import Studies

QueryRows = Callable[..., list[dict[str, str]]]
Printed = Callable[..., str]


@pytest.fixture(scope="session")
def printed(studies: Studies) -> Printed:
    """``printed("diff", "a-neighbours/alone.perfcase", …)``: what a command prints of samples."""

    def run(*words: str) -> str:
        # Standard error says what could not be compared or judged.
        done = studies.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def rows(printed: Printed) -> QueryRows:
    """The same as rows."""
    return lambda *words: list(csv.DictReader(io.StringIO(printed(*words, "--format", "csv", "--limit", "0"))))

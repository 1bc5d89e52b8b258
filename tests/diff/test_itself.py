"""A capture against itself, and what the command refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import fail, succeed
from tests.support.scale import scaled

SAMPLES = Path(__file__).parents[2] / "sample-captures"


@pytest.mark.parametrize("name", ["aarch64-counters/x", "x86_64-scheduling/x"][: scaled(2)])
def test_a_capture_against_itself_gives_nothing(name: str, sample: Callable[[str], Path]) -> None:
    capture = sample(name)
    told = json.loads(succeed("diff", capture, capture, "--format", "json"))
    assert told["differences"] == []
    assert told["noise_count"] == 0
    assert [each["name"] for each in told["comparability"] if not each["is_same"]] == []
    assert len(told["comparability"]) > 10


def test_windows_are_checked(tmp_path: Path) -> None:
    capture = shutil.copy(SAMPLES / "aarch64-counters" / "x.perfcase", tmp_path)
    assert "name another FILE, or give --a and --b" in fail(2, "diff", capture)
    assert "ends before it begins" in fail(2, "diff", capture, "--a", "0s..2s", "--b", "5s..4s")
    assert "it ends before 100 s" in fail(2, "diff", capture, "--a", "0s..2s", "--b", "100s..")
    assert "names, no figures" in fail(2, "diff", capture, capture, "--view", "stack_folded")

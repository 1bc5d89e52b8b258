"""A perf.data cut at 200 random offsets, and with random bytes changed 1,000 times, through the whole importer.

It never crashes, hangs or takes the machine's memory; what lies before the damage is kept; and whenever something is
missing, import_issue says so, with the place.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corrupt.damage import Layout, cut_offset, flips, layout
from tests.oracles.captures import RECORDED, Recorded
from tests.support.scale import scaled

ROOT = Path(__file__).parent.parent.parent
CUTS = scaled(200)
FLIPS = scaled(1000)
# A copy of 1 MB imports in a few hundredths of a second; this is for a loaded machine.
LONGEST_S = 20.0

# Context switches, wakeups, system calls and block requests, with callchains: 4,202 samples.
CAPTURE: Recorded = next(capture for capture in RECORDED if capture.id == "x86_64/offcpu")


@pytest.fixture(scope="module")
def data() -> bytes:
    return CAPTURE.bytes()


@pytest.fixture(scope="module")
def place(data: bytes) -> Layout:
    return layout(data)


def imports(data: bytes, kind: str, count: int, folder: Path) -> list[dict]:
    path = folder / "whole.data"
    path.write_bytes(data)
    command = [sys.executable, "-m", "tests.corrupt.worker", str(path), kind, str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    if done.returncode != 0:
        last = next((line for line in reversed(lines) if line.startswith("begin ")), "the start")
        pytest.fail(f"{kind}: died with {done.returncode} after {last}\n{done.stderr[-2000:]}", pytrace=False)
    answers = [json.loads(line) for line in lines if line.startswith("{")]
    assert [answer["seed"] for answer in answers] == list(range(count))
    slow = [answer["seed"] for answer in answers if answer["wall_s"] > LONGEST_S]
    assert slow == []
    return answers


def test_the_layout_is_that_of_the_capture(place: Layout) -> None:
    assert place.samples_before(place.data_end) == 4202


def test_cut(data: bytes, place: Layout, tmp_path: Path) -> None:
    wrong = []
    for answer in imports(data, "cut", CUTS, tmp_path):
        offset = cut_offset(data, answer["seed"])
        kept = answer.get("tables", {}).get("sample", 0)
        expected = place.samples_before(offset)
        said = [issue for issue in answer.get("issues", []) if issue["severity"] in ("warning", "error")]
        broken = place.cuts_a_record(offset)
        if "error" in answer and offset >= place.data_start:
            wrong.append(f"cut at {offset}: refused: {answer['error']}")
        elif kept != expected:
            wrong.append(f"cut at {offset}: {kept} samples kept, {expected} are whole")
        elif "error" not in answer and not said:
            wrong.append(f"cut at {offset}: nothing is said")
        elif broken is not None and not any(issue["byte_offset"] in (broken, offset) for issue in said):
            wrong.append(f"cut at {offset}: no issue is at the broken record ({broken}) or the end: {said}")
    assert wrong == []


def test_flipped_bytes(data: bytes, place: Layout, tmp_path: Path) -> None:
    wrong = []
    for answer in imports(data, "flip", FLIPS, tmp_path):
        first = flips(data, answer["seed"])[0][0]
        kept = answer.get("tables", {}).get("sample", 0)
        said = [issue for issue in answer.get("issues", []) if issue["severity"] in ("warning", "error")]
        if first >= place.data_start and kept < place.samples_before(first):
            wrong.append(f"seed {answer['seed']}: {kept} samples kept, {place.samples_before(first)} before {first}")
        elif kept < place.samples_before(place.data_end) and "error" not in answer and not said:
            wrong.append(f"seed {answer['seed']}: {kept} samples kept of 4202 and nothing is said")
    assert wrong == []

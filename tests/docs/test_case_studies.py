"""The walk-throughs in docs/case-studies/ show what the commands print of the sample captures.

A block begins with `$ perfcase …`, whose files lie in sample-captures. Its lines stand in what the command prints, in this order;
spaces are not compared, `…` at the end of a line stands for the rest of it, and on a line of its own for other lines.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.studies import Studies

ROOT = Path(__file__).parents[2]
PAGES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "case-studies").glob("*.md"))]
STEPS = [
    (command, shown)
    for page in PAGES
    for block in re.findall(r"^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    for command, shown in re.findall(r"^\$ perfcase (.*?)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE)
]


def squeezed(text: str) -> list[str]:
    """Lines without the rank of a difference, which every new view may change."""
    lines = (re.sub(r"^ *\d+ {3}", "", line) for line in text.splitlines())
    return [" ".join(line.split()) for line in lines if line.strip()]


@pytest.mark.parametrize(("command", "shown"), STEPS, ids=[command for command, _ in STEPS])
def test_a_walk_through_shows_what_is_printed(command: str, shown: str, studies: Studies) -> None:
    done = studies.run(*shlex.split(command))
    assert done.returncode == 0, done.stderr
    printed = iter(squeezed(done.stdout))
    lines = [line for line in squeezed(shown) if line != "…"]
    assert lines
    for line in lines:
        assert any(other.startswith(line[:-1]) if line.endswith("…") else other == line for other in printed), line


def test_each_case_has_a_walk_through() -> None:
    assert [letter for page in PAGES for letter in re.findall(r"^# ([A-E]): ", page, re.MULTILINE)] == list("ABCDE")
    assert len(STEPS) >= 19

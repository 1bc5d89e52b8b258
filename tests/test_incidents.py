"""The files of the suite of incidents, and how it judges. Playing them takes an hour: ``make incidents``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "incidents"
sys.path.insert(0, str(FOLDER))
import guest  # noqa: E402
import playing  # noqa: E402
import suite  # noqa: E402

FAULTS = sorted((FOLDER / "faults").glob("*.py"))
HEALTHY = sorted((FOLDER / "healthy").glob("*.py"))


def test_there_are_enough() -> None:
    assert len(FAULTS) >= 24
    assert len(FAULTS) + len(HEALTHY) >= 30


@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_a_fault_says_its_source_and_its_cause(path: Path) -> None:
    play = suite.load(path)
    assert "Source: " in play.module.__doc__
    assert play.words("CAUSE")
    assert play.words("NAMED")
    assert callable(play.module.play)
    for words in map(play.words, ("NAMED", "BLAMED", "MOVED", "TRUE_ALSO")):
        # An expression that matches everything names nothing.
        assert not words or not re.search(words, "warning |  | : ")


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_a_healthy_workload_says_what_it_is(path: Path) -> None:
    play = suite.load(path)
    assert play.module.__doc__
    assert callable(play.module.play)
    assert not play.words("NAMED")


def test_the_scoreboard_counts() -> None:
    first, second = suite.load(FAULTS[0]), suite.load(HEALTHY[0])
    first.module.NAMED, first.module.BLAMED, first.module.MOVED, first.module.TRUE_ALSO = (
        "cause",
        "cause",
        "moved",
        "known",
    )
    first.findings = {"healthy": ["critical known", "note x"], "bad": ["note y", "warning a | cause"]}
    first.blame, first.diff = ["x", "cause"], ["moved"]
    second.findings = {"healthy": ["critical z | a"]}
    assert suite.rank(first.findings["bad"], "cause") == 2
    assert suite.rank(first.blame, "") is None
    assert suite.false_alarms(first, first.findings["healthy"]) == []
    board = suite.scoreboard([first, second])
    assert (
        "1 faults: named first by the findings 0 (0%), at any rank 1; by the first three lines of blame 1; by the first three of diff 1."
        in board
    )
    assert "2 healthy recordings: 1 with a false finding, 1 critical." in board
    assert f"| {first.name} | 2 | 2 | 1 | note y |" in board
    assert f"| {second.name} | critical z · a |" in board


def test_the_guest_plays_what_there_is() -> None:
    assert len(playing.paths(list(guest.NAMES))) == len(guest.NAMES)
    with pytest.raises(SystemExit, match="there is no nonsense"):
        playing.paths(["nonsense"])


def test_a_scoreboard_is_written_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "a\n<!-- board -->\nold\n<!-- end of board -->\nb\n<!-- guest's board -->\n<!-- end of guest's board -->\nc\n"
    )
    suite.write(page, "guest's board", "new\n")
    assert page.read_text() == (
        "a\n<!-- board -->\nold\n<!-- end of board -->\nb\n<!-- guest's board -->\nnew\n<!-- end of guest's board -->\nc\n"
    )


def test_the_page_has_both_boards() -> None:
    page = (FOLDER.parent / "docs" / "diagnosis.md").read_text()
    for mark in ("board", "guest's board"):
        assert page.count(f"<!-- {mark} -->") == page.count(f"<!-- end of {mark} -->") == 1

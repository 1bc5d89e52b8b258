"""The files of the suite of incidents, and how it judges. Playing them takes an hour: ``make incidents``."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "incidents"
sys.path.insert(0, str(FOLDER))
import guest  # noqa: E402
import playing  # noqa: E402
import scene  # noqa: E402
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


def test_a_scene_that_is_played_again_replaces_its_own_rows_only() -> None:
    plays = [suite.load(path) for path in FAULTS[:3]]
    for play in plays:
        play.module.NAMED, play.module.TRUE_ALSO = "cause", ""
        play.findings = {"healthy": [f"critical old | {play.name}"], "bad": ["note y", "warning a | cause"]}
    before = suite.scoreboard(plays)
    again = plays[1]
    again.findings = {"healthy": [], "bad": ["warning a | cause"]}
    board = suite.scoreboard([again], before, 7)
    # All but the two lines of figures.
    rows = [line for line in before.splitlines()[2:] if f"| {again.name} | critical" not in line]
    rows[rows.index(f"| {again.name} | 2 | – | – | note y |")] = f"| {again.name} | 1 | – | – | warning a · cause |"
    assert board.splitlines()[2:] == rows
    assert board.startswith("- 3 faults: named first by the findings 1 (33%), at any rank 3;")
    assert "10 healthy recordings: 2 with a false finding, 2 critical." in board
    # One that could not be played has its old row.
    again.findings, again.trouble = {}, "it did not start"
    assert f"| {again.name} | 1 | – | – |" in suite.scoreboard([again], board, 7)


def test_a_fault_that_clients_do_not_feel_is_told() -> None:
    calm = {"questions": 100, "mean_ms": 2.0, "failed": 0}
    assert suite.is_felt(calm, {**calm, "mean_ms": 3.0})
    assert suite.is_felt(calm, {**calm, "failed": 5})
    assert not suite.is_felt(calm, {**calm, "mean_ms": 2.9, "failed": 4})
    assert not suite.is_felt(calm, {})


def test_a_clock_counts_questions_that_nobody_answers() -> None:
    clock = scene.Clock(processes=1)
    clock.next_process()
    with clock.asking():
        pass
    with pytest.raises(OSError, match="refused"), clock.asking():
        raise OSError("refused")
    open_question = clock.asking()
    open_question.__enter__()
    told = clock.told(0, time.monotonic() + 1)
    assert (told["questions"], told["failed"]) == (3, 1)
    assert 300 < told["mean_ms"] < 1000
    assert clock.told(time.monotonic() + 5, time.monotonic() + 6)["questions"] == 1
    clock.next_process()  # of more processes than it has memory for nothing is noted
    with clock.asking():
        pass


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

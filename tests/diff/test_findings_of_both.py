"""The findings that are new, gone or changed lead a diff: case A alone and among its neighbours, and made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfcase.case import store
from perfcase.diff import fired, page
from perfcase.diff.fired import Change, WorstFinding, changes, sentences
from perfcase.diff.rank import rank
from perfcase.diff.sides import opened_sides
from tests.support.studies import Studies

ALONE, CROWDED = "a-neighbours/alone.perfcase", "a-neighbours/crowded.perfcase"


def test_the_neighbours_are_new(studies: Studies) -> None:
    told = json.loads(studies.run("diff", ALONE, CROWDED, "--format", "json").stdout)
    assert [(each["finding"], each["state"]) for each in told["findings"]] == [
        ("noisy_neighbour", "new in B"), ("cpu_saturation", "new in B"), ("recorder_cost", "in both"),
    ]  # fmt: skip
    # One cause is one line, as in the findings of B: what follows from it stands behind.
    assert [each["follows_from"] for each in told["findings"]] == [None, "noisy_neighbour", None]
    neighbour = told["findings"][0]
    assert (neighbour["a"], neighbour["b"]["severity"], neighbour["b"]["subject"]) == (None, "critical", "/service")
    assert neighbour["is_judged"] is True
    assert list(told).index("findings") < list(told).index("differences")


def test_the_other_way_round_they_are_gone(studies: Studies, tmp_path: Path) -> None:
    """As the command writes them, but of one view of all."""
    crowded, alone = (store.open_case(studies.path(name)) for name in (CROWDED, ALONE))
    with opened_sides(crowded, alone, None, None) as sides:
        ranking = rank(*sides, ["load_average"])
        found = page.comparison(*sides, ranking, 1, is_one_view=False, findings=changes(*sides))
        page.write(found, "table", tmp_path / "text")
    text = (tmp_path / "text").read_text()
    gone = "gone in B: critical: Noisy neighbour: another control group uses the CPU that this one waits for\n    A  /service: its threads waited"
    assert gone in text
    assert text.index(gone) < text.index("What changed most")
    assert "new in B: " not in text
    assert "in both: recorder_cost\n" in text


def test_of_a_capture_and_itself_nothing_changed(studies: Studies) -> None:
    case = store.open_case(studies.path(CROWDED))
    with opened_sides(case, case, None, None) as sides:
        assert {each.state for each in changes(*sides)} == {"in both"}


def test_states_and_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def one(severity: str, *scores: float, subject: str = "the host (7)") -> tuple[str, list[WorstFinding]]:
        return "it is slow", [WorstFinding(severity, subject, "so much", score, 1) for score in scores]

    a = {"gone": one("note", 0.1), "worse": one("warning", 0.3), "more": one("note", 0.30), "same": one("note", 0.30)}
    b = {
        "worse": one("critical", 0.3),
        "more": one("note", 0.41),
        "same": one("note", 0.39, subject="the host (9)"),
        "new": one("warning", 0.2),
    }
    monkeypatch.setattr(fired, "on_both", lambda *_: ((a, set(a)), (b, {*b, "gone"})))
    found: list[Change] = changes(None, None)  # type: ignore[arg-type]
    assert [(each.finding, each.state) for each in found] == [
        ("new", "new in B"), ("worse", "changed"), ("more", "changed"), ("gone", "gone in B"), ("same", "in both"),
    ]  # fmt: skip
    assert list(sentences(found)) == [
        "new in B: warning: it is slow (it could not be judged in A)",
        "changed: warning → critical: it is slow",
        "changed: note: it is slow",
        "gone in B: note: it is slow",
    ]


def test_a_rule_that_fired_on_both_sides_changes_with_its_cost_and_its_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(*findings: tuple[str, str, float]) -> dict[str, tuple[str, list[WorstFinding]]]:
        return {
            "slow": ("it is slow", [WorstFinding(severity, *rest, score, 1) for severity, *rest, score in findings])
        }

    def state(
        a: list[tuple[str, str, str, float]], b: list[tuple[str, str, str, float]]
    ) -> tuple[str, WorstFinding | None]:
        monkeypatch.setattr(fired, "on_both", lambda *_: ((of(*a), {"slow"}), (of(*b), {"slow"})))
        (change,) = changes(None, None)  # type: ignore[arg-type]
        return change.state, change.b

    shop = ("warning", "shop (7)", "so much", 0.002)
    assert state([shop], [("warning", "shop (9)", "more", 0.0199)])[0] == "in both"
    assert state([shop], [("warning", "shop (9)", "more", 0.02)])[0] == "changed", "ten times as much"
    assert state([("warning", "shop (7)", "little", 0.0001)], [("warning", "shop (9)", "more", 0.0099)])[0] == "in both"
    other = ("warning", "till (8)", "as much", 0.001)
    found, shown = state([shop], [shop, other])
    assert (found, shown and shown.subject) == ("changed", "till (8)")
    assert state([shop, ("warning", "till (5)", "as much", 0.001)], [shop, other])[0] == "in both"
    assert state([shop], [shop, ("note", "till (8)", "as much", 0.0999)])[0] == "in both"
    assert state([shop], [shop, ("note", "till (8)", "as much", 0.1)])[0] == "changed"


def test_what_follows_from_another_change_stands_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As deep as it goes; the first of a group says where it stands; not behind what is in another state; nothing is lost in a ring."""

    def told(**causes: str | None) -> list[tuple[str, str | None]]:
        b = {
            name: (name, [WorstFinding("warning", "shop (7)", "so much", 1 - n / 100, 1, cause)])
            for n, (name, cause) in enumerate(causes.items())
        }
        a = {"known": b["known"]} if "known" in b else {}
        monkeypatch.setattr(fired, "on_both", lambda *_: ((a, set(b)), (b, set(b))))
        return [(each.finding, each.follows_from) for each in changes(None, None)]  # type: ignore[arg-type]

    assert told(late="disk", other=None, disk="leak", leak=None) == [
        ("leak", None), ("disk", "leak"), ("late", "disk"), ("other", None),
    ]  # fmt: skip
    assert told(late="known", known=None) == [("late", None), ("known", None)]
    assert told(late="nothing") == [("late", None)]
    assert told(a="b", b="a", c="b") == [("a", None), ("b", None), ("c", "b")]
    assert told(a="a") == [("a", None)]

"""The lines of a diff are the same in every format.

Each comparison is made once: the sum of the same numbers may differ in its last digit from run to run.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfcase.case import store
from perfcase.diff import page, short
from perfcase.diff.amounts import value
from perfcase.diff.compare import Side
from perfcase.diff.rank import rank
from perfcase.diff.sides import count_per, opened_sides
from tests.support.formats import assert_same_in_every_format
from tests.support.imports import imported

DATA = Path(__file__).parents[1] / "data" / "diff"


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Two recordings, of which the second waits for a mutex."""
    folder = tmp_path_factory.mktemp("formats")
    for name in ("base", "lock"):
        (folder / name).write_bytes(lzma.decompress((DATA / f"{name}.data.xz").read_bytes()))
    with opened_sides(store.open_case(folder / "base"), store.open_case(folder / "lock"), None, None) as both:
        yield both


@pytest.mark.parametrize(("views", "per", "limit"), [(None, None, 0), (["syscall_summary"], "pwrite64", 20)])
def test_the_lines_are_the_same_in_every_format(
    sides: tuple[Side, Side],
    tmp_path: Path,
    views: list[str] | None,
    per: str | None,
    limit: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    a, b = count_per(*sides, per) if per else sides
    ranking = rank(a, b, views)

    def write(fmt: str, path: Path) -> None:
        page.write(page.comparison(a, b, ranking, limit, is_one_view=views is not None), fmt, path)

    write("json", tmp_path / "rows.json")
    told = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    lines = told["differences"]
    all_of = [*ranking.lines, *(ranking.noise if views else [])]
    assert [line["rank"] for line in lines] == list(range(1, min(len(all_of), limit or len(all_of)) + 1))
    # What only one side has, what has no noise and what is noise are among them.
    assert any(line["a"] is None for line in lines) == (views is None)
    assert any(line["is_noise"] for line in lines) == (views is not None)
    assert {line["per"] for line in lines} == ({None, "pwrite64"} if per else {None, "s"})
    assert_same_in_every_format(lines, tmp_path, write)
    # What json says beside the rows, the others say on standard error.
    said = capsys.readouterr().err.splitlines()
    assert [each["lacks"] for each in told["not_compared"]] == ["both"] * len(ranking.not_compared)
    assert len(said) == (0 if views else 3)
    assert all(line.startswith("perfcase: neither side has ") for line in said)


def test_what_is_said_in_short_is_the_same_for_people_and_programs(tmp_path: Path) -> None:
    """Each sentence is of one of the lines about what threads wait for: the first three that are worth one."""
    nagle = Path(__file__).parents[2] / "sample-captures" / "d-nagle"
    with opened_sides(*(imported(nagle / f"{name}.perfcase") for name in ("pipe", "tcp")), None, None) as (a, b):
        found = page.comparison(a, b, rank(a, b, ["blame_by_comm"]), 0, is_one_view=True)
    page.write(found, "json", tmp_path / "rows.json")
    page.write(found, "table", tmp_path / "text")
    told = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    text = (tmp_path / "text").read_text(encoding="utf-8")
    assert text.partition("In short\n")[2].split("\n\n")[0].splitlines() == [f"  {each}" for each in told["in_short"]]
    worth = [each for each in told["differences"] if each["per"] == "s" and abs(each["difference"]) >= 10_000_000]
    named = [dict(zip(each["key_names"], each["key_values"], strict=True)) for each in worth if not each["is_noise"]][
        :3
    ]
    assert named
    for sentence, key in zip(told["in_short"], named, strict=True):
        assert sentence.startswith(f"B: {key['comm']} waits ")
        assert key["on_target"] in sentence
    assert list(found.in_short) == told["in_short"]


def test_who_became_slower_is_said_before_who_came_and_the_recorder_never() -> None:
    """The service waits for a CPU since there are neighbours, which wait longer, and only B has."""
    neighbours = Path(__file__).parents[2] / "sample-captures" / "a-neighbours"
    with opened_sides(
        *(imported(neighbours / f"{name}.perfcase") for name in ("alone", "crowded")), None, None
    ) as sides:
        ranking = rank(*sides)
    said = short.in_short(ranking)
    ready = {
        (each.difference.key[0], figure.measure.name): figure
        for each in ranking.lines
        if each.difference.view == "ready_time"
        for figure in (each.difference, *each.beside)
    }
    waits, runs = (
        value(figure, figure.difference) for figure in (ready["service", "ready_ns"], ready["neighbour", "on_cpu_ns"])
    )
    assert said[0] == f"B: service waits {waits} more for a CPU; neighbour runs {runs} more"
    assert said[1].startswith("B: neighbour waits ")
    assert any(each.is_recorder and each.difference.view == "blame_by_comm" for each in ranking.lines)
    assert not any("B: perfcase" in each for each in said)


def test_nothing_is_said_in_short_of_what_is_alike(sides: tuple[Side, Side], tmp_path: Path) -> None:
    a, _ = sides
    page.write(page.comparison(a, a, rank(a, a), 0, is_one_view=False), "json", tmp_path / "rows.json")
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["in_short"] == []

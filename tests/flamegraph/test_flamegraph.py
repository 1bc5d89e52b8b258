"""Flame graphs: the layout by hand, the figures of the views, hostile names, what is left out, differences."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from perfcase.case import query
from perfcase.stacks.fetching import off_cpu_stacks, sample_stacks
from perfcase.stacks.flamegraph import FlameGraph, svg
from perfcase.stacks.tree import Frame
from perfcase.text import duration, ratio, safe
from tests.support.cli import fail, perfcase, succeed

SVG = "{http://www.w3.org/2000/svg}"
STACKS = [(("main", "b"), 30), (("main", "a", "leaf"), 50), (("main",), 20)]


def boxes(text: str) -> list[tuple[str, str, str, float]]:
    """(title, x, width, y) of each frame as it is drawn."""
    frames = [box for box in ET.fromstring(text).iter(f"{SVG}svg") if box.get("class") == "f"]
    return [(b.find(f"{SVG}title").text, b.get("x"), b.get("width"), float(b.get("y"))) for b in frames]


def test_layout() -> None:
    drawn = boxes(svg(STACKS, title="t"))
    low = drawn[0][3]
    assert [(title, x, width, (low - y) / 16) for title, x, width, y in drawn] == [
        ("all (100 samples, 100.0 %)", "0%", "100%", 0),
        ("main (100 samples, 100.0 %)", "0%", "100%", 1),
        ("a (50 samples, 50.0 %)", "0%", "50%", 2),
        ("leaf (50 samples, 50.0 %)", "0%", "50%", 3),
        ("b (30 samples, 30.0 %)", "50%", "30%", 2),
    ]
    turned = boxes(FlameGraph(STACKS, title="t", icicle=True).svg())
    assert [(y - turned[0][3]) / 16 for *_, y in turned] == [0, 1, 2, 3, 2]


def test_nothing_to_draw() -> None:
    for stacks in ([], [(("main",), 0)], [(("main",), float("nan"))]):
        text = svg(stacks, title="t")
        assert boxes(text) == []
        assert "No stacks: nothing to draw." in text


def test_what_is_too_narrow_is_left_out_and_said() -> None:
    stacks = [(("main",), 12_000), (("main", "x", "y"), 1), (("main", "z"), 2)]
    picture = FlameGraph(stacks, title="t")
    assert [picture.tree.frames[box.node].name for box in picture.boxes] == ["all", "main", "z"]
    assert picture.notes[1] == "2 frames with less than 1 samples (0.00833 % of the width) each are not drawn."
    few = FlameGraph(STACKS, title="t", frames_max=3)
    assert [few.tree.frames[box.node].name for box in few.boxes] == ["all", "main"]
    assert few.notes[1] == "3 frames with less than 100 samples (100 % of the width) each are not drawn."


HOSTILE = [
    "</title><script>alert(1)</script>", "]]></script><script>alert(2)</script>", '" onload="alert(3)', "&amp;&lt;",
    "\x00\x1b[2J\u202e\ufffe\uffff\ud800", "a;b", "(x) (y)", "<style>*{display:none}</style>", "x" * 5000, "",
]  # fmt: skip


def test_hostile_names_are_text() -> None:
    stacks = [((name, Frame(name, "nonsense")), 1) for name in HOSTILE]
    for base in (None, stacks):
        text = svg(stacks, title=HOSTILE[0], base=base, base_title=HOSTILE[1])
        text.encode()
        root = ET.fromstring(text)
        assert len(list(root.iter(f"{SVG}script"))) == 1
        assert len(list(root.iter(f"{SVG}style"))) == 1
        assert not [a for e in root.iter() for a in e.attrib if a.startswith("on") or "href" in a]
        names = [title.rpartition(" (")[0] for title, *_ in boxes(text)]
        wanted = {safe(name) if len(name) <= 400 else "x" * 399 + "…" for name in HOSTILE}
        assert set(names) == {"all", *wanted}


def test_it_needs_nothing_from_elsewhere() -> None:
    text = svg(STACKS, title="t")
    assert set(re.findall(r"https?://[^\"'\s<)]+", text)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
    }
    assert not re.search(r"\b(src|href|import|fetch|eval|Function|innerHTML|url\()", text)


def test_a_difference() -> None:
    base = [(("main", "a", "leaf"), 10), (("main", "b"), 60), (("main", "gone", "deeper"), 30)]
    picture = FlameGraph(STACKS, title="t", base=base, base_title="before")
    told = {title.partition(" (")[0]: title for title, *_ in boxes(picture.svg())}
    assert told["a"] == "a (50 samples, 50.0 %; before: 10 samples, 10.0 %)"
    assert "30.0 % of before is in paths that are not here." in picture.notes[-1]
    fills = dict(re.findall(r"<title>(\w+) \([^<]*</title><rect [^>]*fill=\"(#\w+)\"", picture.svg()))
    red, blue = int(fills["a"][1:3], 16) - int(fills["a"][5:], 16), int(fills["b"][5:], 16) - int(fills["b"][1:3], 16)
    # a: +40 points of the whole, the most; b: -30 points.
    assert red > blue > 0
    assert fills["main"] == fills["all"] == "#f2f2f2"


def test_against_itself_there_is_no_difference() -> None:
    fills = re.findall(r'rx="1.5" fill="(#\w+)"', svg(STACKS, title="t", base=[(f, 3 * w) for f, w in STACKS]))
    assert set(fills) == {"#f2f2f2"}


def test_deep_stacks_and_many() -> None:
    deep = FlameGraph([(["f"] * 20_000, 1)], title="t", frames_max=100_000)
    assert deep.depth == 20_000
    assert len(FlameGraph([((f"f{n}",), n) for n in range(50_000)], title="t", frames_max=500).boxes) <= 500


@pytest.fixture(scope="module")
def case(sample: Callable[[str], Path]) -> Path:
    return sample("x86_64-scheduling/x")


def test_figures_are_those_of_the_views(case: Path) -> None:
    with query.connect(case) as connection:
        event = "cpu-clock/freq=99/"
        ours: Counter[tuple[str, ...]] = Counter()
        for frames, weight in sample_stacks(connection, event):
            for depth in range(2, len(frames) + 1):
                ours[tuple(frame.name for frame in frames[1:depth])] += weight
        theirs = {
            tuple(labels): period
            for labels, period in connection.execute(
                "SELECT labels[1:depth], sum(period) FROM (SELECT labels, period, unnest(generate_series(1, len(labels)))"
                " AS depth FROM stack_weight WHERE event = ?) GROUP BY 1",
                [event],
            ).fetchall()
        }
        assert len(theirs) > 1000
        assert ours == theirs
        drawn = [title for title, *_ in boxes(svg(sample_stacks(connection, event), title="t", unit="ns"))]
        (total,) = connection.execute(
            "SELECT sum(total_period) FROM call_tree WHERE depth = 1 AND event = ?", [event]
        ).fetchone()
        assert drawn[0] == f"all ({duration(total)}, 100.0 %)"
        waits: Counter[tuple[str | None, str, str]] = Counter()
        for frames, weight in off_cpu_stacks(connection):
            waits[frames[0].name, frames[-1].name[1:-1], ";".join(f.name.replace(";", ":") for f in frames[1:-1])] += (
                weight
            )
        rows = connection.execute(
            "SELECT coalesce(comm, '[unknown]'), state, coalesce(stack, ''), sum(off_cpu_ns) FROM off_cpu_by_stack GROUP BY ALL"
        ).fetchall()
        assert len(rows) > 500
        assert waits == {tuple(key): total for *key, total in rows}


def test_the_command(case: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.svg"
    assert succeed("flamegraph", case, "-o", out, "--where", "comm = 'hog' -- them") == ""
    drawn = boxes(out.read_text(encoding="utf-8"))
    told = succeed("sql", case, "SELECT sum(period) FROM sample JOIN thread_name USING (name_id) WHERE comm = 'hog'"
                   " AND event_id = 0 AND (stack_id IS NOT NULL OR frame_id IS NOT NULL)", "-f", "csv")  # fmt: skip
    nanoseconds = int(told.splitlines()[1])
    assert [title for title, *_ in drawn[:2]] == [
        f"{name} ({duration(nanoseconds)}, {ratio(1)})" for name in ("all", "hog")
    ]
    assert succeed("flamegraph", case, "-o", out, "--off-cpu", "--where", "state = 'disk_sleep'") == ""
    leaves = {title.partition(" (")[0] for title, *_ in boxes(out.read_text(encoding="utf-8"))}
    assert "[disk_sleep]" in leaves
    assert "[sleeping]" not in leaves
    assert succeed("flamegraph", case, "-o", out, "--event", "sched_switch") == ""
    assert "sched:sched_switch" in out.read_text(encoding="utf-8")
    before = out.read_bytes()
    assert "samples are of" in fail(6, "flamegraph", case, "-o", out, "--event", "nonsense")
    assert "exclude each other" in fail(2, "flamegraph", case, "-o", out, "--event", "cycles", "--off-cpu")
    assert "not found" in fail(5, "flamegraph", case, "-o", out, "--where", "nonsense = 1")
    assert fail(5, "flamegraph", case, "-o", out, "--where", "true) TO '/tmp/x'; COPY (SELECT 1")
    assert "cannot be written" in fail(8, "flamegraph", case, "-o", tmp_path / "no" / "x.svg")
    assert out.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["x.svg"]
    assert perfcase("flamegraph", case).returncode == 2

"""The tree of a flame graph: worked by hand, cut, of two captures; its figures are those of the picture and of the views."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.stacks import tree as stack_tree
from perfcase.stacks.fetching import blame_stacks, event_counts, off_wake_stacks, sample_stacks
from perfcase.stacks.flamegraph import FlameGraph
from perfcase.stacks.tree import Frame, tree
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case
from tests.support.imports import unpacked

STACKS = [(("main", Frame("b", "kernel")), 30), (("main", "a", "main"), 50), (("main",), 20), (("other",), 0)]


def rows(told: dict, *columns: str) -> list[tuple]:
    """The nodes as rows, names instead of their numbers."""
    named = {
        **told,
        "name": [told["names"][n] for n in told["name"]],
        "kind": [told["kinds"][n] for n in told["kind"]],
    }
    return list(zip(*(named[column] for column in columns), strict=True))


def test_a_tree_by_hand() -> None:
    assert rows(tree(STACKS), "parent", "name", "kind", "weight", "self") == [
        (-1, "all", "label", 100, 0),
        (0, "main", "user", 100, 20),
        (1, "b", "kernel", 30, 30),
        (1, "a", "user", 50, 0),
        (3, "main", "user", 50, 50),
    ]
    assert tree(STACKS)["pruned"] == {"nodes": 0, "ratio_below": stack_tree.RATIO_MIN}
    assert rows(tree([]), "parent", "name", "weight") == [(-1, "all", 0)]


def test_of_two_captures() -> None:
    told = tree(STACKS, [(("main", "a"), 3), (("gone", "c"), 1.5)])
    assert rows(told, "name", "weight", "self", "base", "base_self") == [
        ("all", 100, 0, 4.5, 0),
        ("main", 100, 20, 3, 0),
        ("b", 30, 30, 0, 0),
        ("a", 50, 0, 3, 3),
        ("main", 50, 50, 0, 0),
        ("gone", 0, 0, 1.5, 0),
        ("c", 0, 0, 1.5, 1.5),
    ]


def test_what_cannot_be_seen_is_left_out_and_counted() -> None:
    told = tree([(("main",), 200_000), (("main", "x", "y"), 1), (("main", "z"), 3)])
    assert rows(told, "parent", "name", "weight", "self") == [
        (-1, "all", 200_004, 0),
        (0, "main", 200_004, 200_000),
        (1, "z", 3, 3),
    ]
    assert told["pruned"]["nodes"] == 2
    few = tree(STACKS, nodes_max=3)
    assert [name for (name,) in rows(few, "name")] == ["all", "main"]
    assert few["pruned"] == {"nodes": 3, "ratio_below": 0.5}
    # In the base it can be seen.
    kept = tree([(("main",), 200_000), (("main", "x"), 1)], [(("main", "x"), 1)])
    assert [name for (name,) in rows(kept, "name")] == ["all", "main", "x"]
    assert "\n" not in tree([(("a\nb\x1b[31m",), 1)])["names"][1]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = Path(__file__).parents[2]
    folder = tmp_path_factory.mktemp("tree") / "post.case"
    succeed("import", root / "sample-captures" / "c-blocking-call" / "post.perfcase", "-o", folder)
    return folder


@pytest.fixture(scope="module")
def connection(case: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with query.connect(case) as connected:
        yield connected


def test_its_figures_are_those_of_the_picture(connection: duckdb.DuckDBPyConnection) -> None:
    event = event_counts(connection)[0][0]
    drawn = FlameGraph(sample_stacks(connection, event), title="t", frames_max=10**9)
    told = tree(sample_stacks(connection, event))
    assert told["pruned"]["nodes"] == 0
    paths: list[tuple[str, ...]] = []
    for parent, name in rows(told, "parent", "name"):
        paths.append((*paths[parent], name) if parent >= 0 else (name,))
    ours = Counter(dict(zip(paths, told["weight"], strict=True)))
    stack: list[str] = []
    theirs = Counter()
    for box in drawn.boxes:
        stack[box.depth :] = [drawn.tree.frames[box.node].name]
        theirs[tuple(stack)] = drawn.tree.sides[0].whole[box.node]
    assert len(theirs) > 200
    # The picture leaves out what is narrower than a tenth of its 1,200 pixels.
    assert theirs.items() <= ours.items()
    assert all(weight * 12_000 < ours["all",] for path, weight in ours.items() if path not in theirs)


def test_sleeps_with_their_wakers_are_those_of_the_view(connection: duckdb.DuckDBPyConnection) -> None:
    ours: Counter = Counter()
    for path, weight in off_wake_stacks(connection):
        names = [frame.name for frame in path]
        (state,) = (
            number for number, frame in enumerate(path[1:], 1) if frame.kind == "label" and number < len(path) - 1
        )
        waker = names[-1].removeprefix("woken by ")
        asleep, woke = names[1:state], names[state + 1 : -1]
        ours[names[0], ";".join(asleep), waker, ";".join(reversed(woke))] += weight
    theirs: Counter = Counter()
    for comm, stack, waker, waker_stack, weight in connection.execute(
        "SELECT comm, coalesce(stack, ''), CASE WHEN is_interrupt THEN 'an interrupt' ELSE coalesce(waker_comm, '[waker not known]') END, coalesce(waker_stack, ''), off_cpu_ns"
        " FROM off_wake"
    ).fetchall():
        theirs[comm, stack, waker, waker_stack] += weight
    assert len(theirs) > 50
    assert ours == theirs


def test_causes_are_those_of_the_view(connection: duckdb.DuckDBPyConnection) -> None:
    ours: Counter = Counter()
    for path, weight in blame_stacks(connection):
        cause, _, target = path[-1].name.partition(" ")
        ours[path[0].name, path[1].name, cause, target] += weight
    theirs: Counter = Counter()
    for comm, work, cause, target, weight in connection.execute(
        "SELECT comm, work, cause, coalesce(on_target, ''), wait_ns FROM blame_by_comm"
    ).fetchall():
        theirs[comm, f"[{work}]", f"[{cause}]", target] += weight
    assert len(theirs) > 20
    assert ours == theirs


def test_the_commands(case: Path, connection: duckdb.DuckDBPyConnection) -> None:
    told = json.loads(succeed("flamegraph", case, "--format", "json", "-o", "-"))
    assert told["what"].split("/")[0] == "cpu-clock"
    assert told["unit"] == "ns"
    assert told["what"] in {each["event"] for each in told["events"]}
    slept = json.loads(succeed("flamegraph", case, "--off-cpu", "--wakers", "--format", "json", "-o", "-"))
    ((total,),) = connection.execute("SELECT sum(off_cpu_ns)::BIGINT FROM off_wake").fetchall()
    assert slept["weight"][0] == total
    blamed = json.loads(succeed("flamegraph", case, "--blame", "--format", "json", "-o", "-"))
    ((total,),) = connection.execute("SELECT sum(duration_ns)::BIGINT FROM blame").fetchall()
    assert blamed["weight"][0] == total
    assert fail(2, "flamegraph", case, "--blame", "--off-cpu", "-o", "-").startswith("--blame and --off-cpu exclude")
    assert fail(2, "flamegraph", case, "--wakers", "-o", "-") == "--wakers needs --off-cpu"
    differs = json.loads(succeed("diff", case, case, "--flamegraph", "-", "--format", "json"))
    assert differs["weight"] == differs["base"]
    assert differs["weight"][0] > 0
    assert succeed("diff", case, case, "--flamegraph", "-").startswith("<svg")


def test_hostile_names_are_plain_text(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
    made = make_case(
        tmp_path / "x.case",
        {
            "thread": [{"utid": 1, "tid": 1, "pid": 1, "comm": name}],
            "perf_event": [{"event_id": 0, "name": "cycles", "is_tracepoint": False}],
            "frame": [{"frame_id": 0, "address": 1, "is_kernel": False, "is_inlined": False, "symbol": name}],
            "sample": [
                {"sample_id": 0, "ts_ns": 1, "utid": 1, "event_id": 0, "period": 1, "cpu_mode": 2, "frame_id": 0}
            ],
            "capture": [{"name": "x"}],
        },
    )
    told = json.loads(succeed("flamegraph", made, "--format", "json", "-o", "-"))
    assert [n.startswith("<img src=x onerror=alert(1)>") for n in told["names"]] == [False, True]
    assert not any(c < " " for n in told["names"] for c in n)


@pytest.mark.parametrize("name", ["x86_64-scheduling/x", "c-blocking-call/post", "d-nagle/tcp"])
def test_perfs_own_counts_are_those_of_the_samples(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "x.case"
    succeed("import", Path(__file__).parents[2] / "sample-captures" / f"{name}.perfcase", "-o", folder)
    with query.connect(folder) as connected:
        counted = event_counts(connected)
        assert event_counts(connected, is_whole=True) == counted
        assert counted


def test_the_period_of_a_tracepoint_may_be_a_time(tmp_path: Path) -> None:
    """The kernel counts the runtime for sched_stat_runtime, as perf report does."""
    capture = unpacked(Path(__file__).parents[1] / "data" / "captures" / "x86_64" / "sched.data.xz", tmp_path)
    sql = "SELECT sum(runtime)::BIGINT AS run_ns FROM sched_stat_runtime"
    ((row,), asked) = json.loads(succeed("sql", capture, sql, "-f", "json")), "sched:sched_stat_runtime"
    told = json.loads(succeed("flamegraph", capture, "--event", asked, "--format", "json", "-o", "-"))
    assert (told["unit"], told["weight"][0]) == ("ns", row["run_ns"])
    assert {each["event"]: each["unit"] for each in told["events"]}["sched:sched_switch"] == "events"

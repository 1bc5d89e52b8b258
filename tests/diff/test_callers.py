"""perfcase diff --callers and --flamegraph."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from perfcase.diff.callers import callers
from perfcase.diff.stacks import Chain, Named, Profile, Weight, ambiguous_names, label
from perfcase.errors import PerfcaseError
from tests.support.cli import fail, succeed

SAMPLES = Path(__file__).parents[2] / "sample-captures"


def chain(*names: str) -> Chain:
    return (
        Named("app", "", "label"),
        *(Named(*name.split("@"), "user") if "@" in name else Named(name, "x", "user") for name in names),
    )


def profile_of(stacks: dict[Chain, tuple[float, int]]) -> Profile:
    weights = {path: Weight(*each) for path, each in stacks.items()}
    total = Weight(sum(w.weight for w in weights.values()), sum(w.samples for w in weights.values()))
    return Profile(weights, "cpu-clock", "ns", total)


def test_callers_of_a_function_with_both_absolutes() -> None:
    # 10 s and 5 s. main > get > hash: 100 and 200; main > put > hash: 300 and 30, recursive in B; main: 600 and 170.
    a = profile_of(
        {chain("main", "get", "hash"): (100, 10), chain("main", "put", "hash"): (300, 30), chain("main"): (600, 60)}
    )
    b = profile_of({
        chain("main", "get", "hash", "mix"): (200, 20), chain("main", "put", "hash", "hash"): (30, 3), chain("main"): (170, 17),
    })  # fmt: skip
    found = callers(a, b, 10 * 10**9, 5 * 10**9, "hash")
    assert [(row.path, row.a, row.b, row.a_per_s, row.b_per_s) for row in found] == [
        (("hash",), (400, 40), (230, 23), 40, 46),
        (("hash", "get"), (100, 10), (200, 20), 10, 40),
        (("hash", "put"), (300, 30), (0, 0), 30, 0),
        (("hash", "get", "main"), (100, 10), (200, 20), 10, 40),
        (("hash", "put", "main"), (300, 30), (0, 0), 30, 0),
        (("hash", "get", "main", "app"), (100, 10), (200, 20), 10, 40),
        (("hash", "put", "main", "app"), (300, 30), (0, 0), 30, 0),
        (("hash", "hash"), (0, 0), (30, 3), 0, 6),
        (("hash", "hash", "put"), (0, 0), (30, 3), 0, 6),
        (("hash", "hash", "put", "main"), (0, 0), (30, 3), 0, 6),
        (("hash", "hash", "put", "main", "app"), (0, 0), (30, 3), 0, 6),
    ]
    get, put, recursive = found[1], found[2], found[7]
    assert (get.a_ratio, get.b_ratio, get.times) == (0.1, 0.5, 4)
    assert (put.times, recursive.times) == (0, None)
    # 30 more, known to 10 / sqrt(10) and 40 / sqrt(20).
    assert get.sigmas == pytest.approx(30 / (10 + 80) ** 0.5)


def test_a_name_in_two_objects_is_told_apart() -> None:
    a = profile_of({chain("main@one", "copy@libc"): (10, 1), chain("main@two", "copy@libc"): (20, 2)})
    found = callers(a, a, 10**9, 10**9, "copy")
    assert [row.path for row in found if row.depth == 1] == [("copy", "main (one)"), ("copy", "main (two)")]
    assert [row.a for row in callers(a, a, 10**9, 10**9, "main (two)") if row.depth == 0] == [(20, 2)]
    assert label(Named("copy", "libc", "user"), ambiguous_names(a.stacks)) == "copy"


def test_a_function_that_neither_has() -> None:
    a = profile_of({chain("malloc"): (1, 1)})
    with pytest.raises(PerfcaseError, match=r"in a function mallok \(did you mean malloc\?\)"):
        callers(a, a, 1, 1, "mallok")


@pytest.fixture(scope="module")
def recorded(sample: Callable[[str], Path]) -> Path:
    """A recorded capture, imported, whose first and second half are compared."""
    return sample("x86_64-scheduling/x")


PARTS = ("--a", "0s..8s", "--b", "8s..")


def test_callers_of_a_recording_are_those_of_the_view(recorded: Path) -> None:
    function = "do_syscall_64"
    told = succeed("diff", recorded, *PARTS, "--callers", function, "--format", "csv", "--limit", "0")
    found = {row["path"]: row for row in csv.DictReader(io.StringIO(told))}
    # The view has every thread and no thread names; the function itself and its only caller are in both.
    view = json.loads(succeed(
        "sql", recorded, "--format", "json",
        "SELECT sum(period)::DOUBLE AS weight, count(*) AS samples, ts_ns < 8000000000 AS first"
        " FROM sample JOIN perf_event USING (event_id) LEFT JOIN thread USING (utid) WHERE name LIKE 'cpu-clock%'"
        " AND stack_id IN (SELECT stack_id FROM stack_folded WHERE list_contains(labels, 'do_syscall_64'))"
        " AND coalesce(utid NOT IN (SELECT utid FROM recorder_thread), true) GROUP BY first ORDER BY first DESC",
    ))  # fmt: skip
    row = found[function]
    assert [(float(row["a"]), int(row["a_samples"])), (float(row["b"]), int(row["b_samples"]))] == [
        (each["weight"], each["samples"]) for each in view
    ]
    # Sampling began later than the capture.
    span = json.loads(succeed(
        "sql", recorded, "--only", "window=0s..8s", "--format", "json",
        "SELECT duration_ns FROM recorded_span WHERE table_name = 'sample'",
    ))[0]["duration_ns"]  # fmt: skip
    assert 0 < span < 8e9
    assert float(row["a_per_s"]) == pytest.approx(float(row["a"]) / (span / 1e9))
    assert "neither capture has a sample in a function do_sycall_64" in fail(
        6, "diff", recorded, *PARTS, "--callers", "do_sycall_64"
    )


def test_a_differential_flame_graph_of_a_recording(recorded: Path, tmp_path: Path) -> None:
    succeed("diff", recorded, *PARTS, "--flamegraph", tmp_path / "d.svg")
    picture = (tmp_path / "d.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(picture)
    titles = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}title")]
    # Each frame has both sides, absolute and as a share.
    assert all(re.search(r"\(.*, [0-9.]+ %; .* 0s\.\.8s: .*, [0-9.]+ %\)$", title) for title in titles)
    assert any(title.startswith("do_syscall_64 (") for title in titles)
    assert "larger share" in picture
    # One part against itself: nothing has changed, so nothing has a colour.
    succeed("diff", recorded, "--a", "0s..8s", "--b", "0s..8s", "--flamegraph", tmp_path / "same.svg")
    frames = (tmp_path / "same.svg").read_text(encoding="utf-8").split("as it was", 1)[1]
    colours = re.findall(r'fill="(#[0-9a-f]{6})"', frames)
    assert colours
    assert set(colours) == {"#f2f2f2"}


@pytest.mark.parametrize("wakers", [False, True])
def test_time_off_the_cpu_is_that_of_the_views(recorded: Path, wakers: bool) -> None:
    told = json.loads(succeed(
        "diff", recorded, *PARTS, "--flamegraph", "-", "--format", "json", "--off-cpu", *(["--wakers"] if wakers else [])
    ))  # fmt: skip
    assert (told["what"], told["unit"], told["events"]) == (
        "time asleep, with wakers" if wakers else "time off the CPU", "ns", []
    )  # fmt: skip
    names = [told["names"][name] for name in told["name"]]
    kinds = [told["kinds"][kind] for kind in told["kind"]]

    def labels(node: int) -> tuple[str, ...]:
        above = labels(told["parent"][node]) if told["parent"][node] > 0 else ()
        return (*above, names[node]) if kinds[node] == "label" else above

    # off_wake has no pids to leave the idle loop and the recorder out by: that is the view's own sum.
    slept = (
        "SELECT s.utid, n.comm, t.pid, s.state, CASE WHEN s.waker_context = 'hardirq' OR s.waker_context = 'softirq' AND s.waker_utid = 0"
        " THEN 'an interrupt' ELSE k.comm END AS waker, s.duration_ns + coalesce(s.run_queue_ns, 0) AS off_cpu_ns"
        " FROM followed_state AS s JOIN thread AS t USING (utid) LEFT JOIN thread_name AS n ON n.name_id = s.name_id"
        " LEFT JOIN thread_name AS k ON k.name_id = s.waker_name_id"
        " WHERE s.state NOT IN ('running', 'idle', 'runnable', 'runnable_preempted') AND NOT s.is_open"
    )
    counted = f"({slept})" if wakers else "(SELECT *, NULL AS waker FROM off_cpu_by_stack)"
    for side, window in (("base_self", "0s..8s"), ("self", "8s..")):
        found: Counter[tuple[str, ...]] = Counter()
        for node, weight in enumerate(told[side]):
            if weight:
                found[labels(node)] += weight
        rows = json.loads(succeed(
            "sql", recorded, "--only", f"window={window}", "--format", "json",
            f"SELECT comm, state, waker, sum(off_cpu_ns)::BIGINT AS ns FROM {counted}"
            " WHERE coalesce(pid <> 0, true) AND utid NOT IN (SELECT utid FROM recorder_thread) GROUP BY ALL",
        ))  # fmt: skip
        wanted: Counter[tuple[str, ...]] = Counter()
        for row in rows:
            end = [f"woken by {row['waker']}" if row["waker"] else "[waker not known]"] if wakers else []
            path = (row["comm"], f"[{row['state']}]", *end)
            wanted[tuple(re.sub(r"([-/:#_])[0-9]+", r"\1*", name) for name in path)] += row["ns"]
        assert len(wanted) > 10
        # What is narrower than the tree's bound is not in it.
        assert found.keys() <= wanted.keys()
        total = sum(wanted.values())
        for path, ns in wanted.items():
            assert 0 <= ns - found[path] <= total * told["pruned"]["nodes"] * told["pruned"]["ratio_below"], path


def test_callers_of_time_off_the_cpu(recorded: Path) -> None:
    function = "schedule"
    told = succeed(
        "diff", recorded, *PARTS, "--callers", function, "--off-cpu", "--format", "csv", "--limit", "0"
    )  # fmt: skip
    row = next(row for row in csv.DictReader(io.StringIO(told)) if row["path"] == function)
    (seen,) = json.loads(succeed(
        "sql", recorded, "--only", "window=8s..", "--format", "json",
        "SELECT sum(duration_ns)::BIGINT AS ns, count(*) AS number FROM followed_state JOIN thread AS t USING (utid)"
        " WHERE state NOT IN ('running', 'idle') AND NOT is_open AND t.pid <> 0"
        " AND t.utid NOT IN (SELECT utid FROM recorder_thread)"
        f" AND stack_id IN (SELECT stack_id FROM stack_folded WHERE list_contains(labels, '{function}'))",
    ))  # fmt: skip
    assert (float(row["b"]), int(row["b_samples"])) == (seen["ns"], seen["number"])


def test_time_off_the_cpu_that_one_does_not_have(recorded: Path, tmp_path: Path) -> None:
    said = fail(6, "diff", recorded, "--a", "0s..8s", "--b", "0s..1ns", "--flamegraph", tmp_path / "x.svg", "--off-cpu")
    assert "one of the two has no time off the CPU" in said
    assert not (tmp_path / "x.svg").exists()


def test_what_only_these_take(recorded: Path) -> None:
    assert "--event needs --flamegraph or --callers" in fail(2, "diff", recorded, *PARTS, "--event", "cpu-clock")
    assert "--off-cpu needs --flamegraph or --callers" in fail(2, "diff", recorded, *PARTS, "--off-cpu")
    assert "--wakers needs --off-cpu" in fail(2, "diff", recorded, *PARTS, "--wakers", "--flamegraph", "-")


def test_a_part_of_both_is_compared(recorded: Path) -> None:
    """What --only leaves is compared as two captures of nothing else."""
    only = "thread=dd"
    told = json.loads(
        succeed("diff", recorded, *PARTS, "--only", only, "--view", "syscall_summary", "--format", "json", "-n", "0")
    )
    counts = {
        (line["key_values"][1], side): line[side]
        for line in told["differences"]
        for side in ("a", "b")
        if line["measure"] == "call_count"
    }
    assert {line["key_values"][0] for line in told["differences"]} == {"dd"}
    for side, window in (("a", "0s..8s"), ("b", "8s..")):
        rows = json.loads(succeed(
            "sql", recorded, "--only", f"window={window}", "--format", "json",
            "SELECT name, sum(call_count)::BIGINT AS n FROM syscall_summary WHERE comm = 'dd' GROUP BY name",
        ))  # fmt: skip
        seen = {row["name"]: row["n"] for row in rows}
        shown = {name: count for (name, of), count in counts.items() if of == side and count is not None}
        # What is the same on both sides is no difference.
        assert len(shown) > 3
        assert shown.items() <= seen.items()
    headed = succeed("diff", recorded, *PARTS, "--only", only, "--view", "syscall_summary")
    assert f"A  x.perfcase 0s..8s, {only}" in headed
    assert "x.perfcase: there is no thread nobody" in fail(6, "diff", recorded, *PARTS, "--only", "thread=nobody")
    assert "windows of their own" in fail(2, "diff", recorded, *PARTS, "--only", "window=1s..")
    assert "--baseline replaces" in fail(2, "diff", recorded, "--baseline", ".", "--only", "cpu=0")

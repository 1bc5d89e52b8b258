"""Whether two captures have the same stacks: the arithmetic, what chance does to it, and a recorded capture split in two."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, store
from perfcase.diff.compare import Side
from perfcase.diff.shape import SAMPLES_MIN, shape
from perfcase.diff.sides import opened_sides
from perfcase.diff.stack_page import compare_stacks
from perfcase.diff.stacks import Chain, Named, Profile, Weight, profile, profiles
from perfcase.errors import PerfcaseError
from tests.support.fakecase import make_case

SAMPLES = Path(__file__).parents[2] / "sample-captures"


def chain(*names: str) -> Chain:
    return (Named("java", "", "label"), *(Named(name, "app", "user") for name in names))


def profile_of(counts: Mapping[Chain, int]) -> Profile:
    stacks = {path: Weight(10.0 * count, count) for path, count in counts.items()}
    total = sum(counts.values())
    return Profile(stacks, "cycles", "cycles", Weight(10.0 * total, total))


def test_the_overlap_is_the_sum_of_the_smaller_shares() -> None:
    found = shape(profile_of({chain("x"): 50, chain("y"): 50}), profile_of({chain("x"): 120, chain("y"): 80}))
    assert found.overlap == pytest.approx(0.5 + 0.4)
    # Shares of both together: 170/300 and 130/300; 1/100 + 1/200 = 0.015; sqrt(2/pi * 0.015 * share) each, half of both lost.
    assert found.expected == pytest.approx(1 - (0.0735615 + 0.0643284) / 2, abs=1e-6)
    assert found.is_same
    assert [(path[-1].name, p, q) for path, p, q in found.moved] == [("x", 0.5, 0.6), ("y", 0.5, 0.4)]


def test_other_stacks_are_another_shape() -> None:
    found = shape(profile_of({chain("x"): 500, chain("y"): 500}), profile_of({chain("x"): 500, chain("z"): 500}))
    assert found.overlap == 0.5
    assert found.is_judged
    assert not found.is_same


def test_too_few_samples_are_not_judged() -> None:
    few = profile_of({chain("x"): SAMPLES_MIN - 1})
    assert not shape(few, few).is_judged
    # As many stacks as samples: chance alone takes nearly all of the overlap.
    one = profile_of({chain(str(number)): 1 for number in range(500)})
    other = profile_of({chain(str(number)): 1 for number in range(500, 1000)})
    assert not shape(one, other).is_judged
    nothing = shape(profile_of({}), profile_of({}))
    assert (nothing.overlap, nothing.is_same) == (0, False)


@pytest.mark.parametrize("moved", [0.0, 0.3])
def test_what_chance_leaves_is_what_samples_of_one_distribution_have(moved: float) -> None:
    random_numbers = random.Random(int(10 * moved))
    stacks = [chain(str(number)) for number in range(60)]
    before = [1 / (number + 1) for number in range(60)]
    total = sum(before)
    # The share that moved goes to stacks that were not there.
    after = [*(weight * (1 - moved) for weight in before), moved * total]
    judged = []
    for _ in range(200):
        a = Counter(random_numbers.choices(stacks, before, k=400))
        b = Counter(random_numbers.choices([*stacks, chain("new")], after, k=900))
        found = shape(profile_of(a), profile_of(b))
        judged.append(found.is_same)
        if not moved:
            assert found.overlap / found.expected == pytest.approx(1, abs=0.07)
    assert sum(judged) == (0 if moved else 200)


@pytest.fixture(scope="module")
def recorded(sample: Callable[[str], Path]) -> Path:
    """A recorded capture with samples and hardware counters, imported."""
    return sample("aarch64-counters/x")


def test_two_random_halves_of_a_recording_have_the_same_shape(recorded: Path) -> None:
    with query.connect(recorded) as connection:
        found = profiles(*[Side(connection, "x", 1, 1)] * 2)[0]
        event, unit = found.event, found.unit
        halves = [profile(connection, event, unit, f"hash(sample_id) % 2 = {half}") for half in (0, 1)]
        whole = profile(connection, event, unit, None)
        counted = connection.execute(
            "SELECT count(*), sum(period) FROM sample JOIN perf_event USING (event_id) WHERE name = ?", [event]
        ).fetchone()
    assert (whole.total.samples, whole.total.weight) == counted
    assert sum(half.total.samples for half in halves) == counted[0]
    found = shape(*halves)
    assert found.overlap / found.expected == pytest.approx(1, abs=0.1)


def edited(folder: Path, target: Path, table: str, change: str) -> Path:
    """A copy of an import with another content of one table."""
    shutil.copytree(folder, target)
    path = target / "tables" / f"{table}.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * REPLACE ({change}) FROM read_parquet('{path}')) TO '{path}.new' (FORMAT parquet)"
        )
    (path.parent / f"{table}.parquet.new").replace(path)
    info = json.loads((target / "import.json").read_text(encoding="utf-8"))
    info["files"][f"tables/{table}.parquet"] = path.stat().st_size
    (target / "import.json").write_text(json.dumps(info), encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def counters(sample: Callable[[str], Path]) -> tuple[Path, Path]:
    """The recordings of two counters on a line each and on one line, imported; the emulation has no caches."""
    return sample("b-false-sharing/padded"), sample("b-false-sharing/shared")


def test_two_recordings_of_the_same_code_have_the_same_shape(counters: tuple[Path, Path]) -> None:
    padded, shared = map(store.open_case, counters)
    with opened_sides(padded, shared, None, None) as sides:
        found = compare_stacks(*sides)
    assert found is not None
    assert (found.is_same_shape, found.counters, found.moved) == (True, (), ())
    assert found.sentence.startswith("same shape: overlap of the stacks 0.9")


def test_three_times_the_cycles_are_said_beside_the_same_shape(counters: tuple[Path, Path], tmp_path: Path) -> None:
    slow = edited(
        counters[1], tmp_path / "slow.case", "pmc_interval",
        "CASE WHEN event LIKE '%cycles%' AND unit IS NULL THEN count * 3 ELSE count END AS count",
    )  # fmt: skip
    with opened_sides(store.open_case(counters[0]), store.open_case(slow), None, None) as sides:
        found = compare_stacks(*sides)
    assert found is not None
    assert (found.is_same_shape, [counter.split()[0] for counter in found.counters]) == (True, ["ipc"])
    assert found.counters[0].endswith("(÷ 3)")
    assert found.sentence.startswith("same shape, different counters: ipc ")


def test_other_work_is_another_shape_and_says_what_moved(counters: tuple[Path, Path], recorded: Path) -> None:
    with opened_sides(store.open_case(counters[0]), store.open_case(recorded), None, None) as sides:
        found = compare_stacks(*sides)
    assert found is not None
    assert found.is_same_shape is False
    assert found.sentence.startswith("another shape: ")
    assert len(found.moved) == 3
    assert "of the samples of A" in found.moved[0]


# The same program, built and loaded elsewhere, its threads numbered otherwise: nothing but names in common.
def rows(build: str, address: int, ids: Sequence[int], comm: str, pid: int) -> dict[str, list[dict[str, object]]]:
    main, work, blind = ids
    return {
        "capture": [{"capture_id": build, "duration_ns": 10**9}],
        "thread": [{"utid": 5, "tid": pid, "pid": pid, "comm": comm}],
        "perf_event": [{"event_id": 0, "source_id": 0, "name": "cpu-clock", "is_tracepoint": False}],
        "dso": [
            {"dso_id": main, "name": "app", "path": f"/{build}/app", "kind": "user", "build_id": build},
            {"dso_id": work, "name": f"perf-{pid}.map", "path": f"/tmp/perf-{pid}.map", "kind": "anon"},
        ],
        "frame": [
            {"frame_id": main, "dso_id": main, "address": address, "is_kernel": False, "symbol": "main"},
            {"frame_id": work, "dso_id": work, "address": address + 1, "is_kernel": False, "symbol": "Work.run"},
            {"frame_id": blind, "dso_id": main, "address": address + 2, "is_kernel": False},
        ],
        "stack": [{"stack_id": main, "frame_ids": [blind, work, main], "depth": 3, "kernel_depth": 0}],
        "sample": [
            {"sample_id": n, "ts_ns": n, "cpu": 0, "utid": 5, "event_id": 0, "period": 7, "stack_id": main, "frame_id": blind}
            for n in range(3)
        ] + [{"sample_id": 9, "ts_ns": 9, "cpu": 0, "utid": 5, "event_id": 0, "period": 7, "frame_id": main}],
    }  # fmt: skip


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]]:
    one = make_case(tmp_path / "one.case", rows("aa", 16, (0, 1, 2), "worker-3", 100))
    other = make_case(tmp_path / "other.case", rows("bb", 4096, (7, 3, 1), "worker-12", 2000))
    with query.connect(one) as first, query.connect(other) as second:
        yield first, second


def test_stacks_are_matched_by_names(two: tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]) -> None:
    one, other = (profile(connection, "cpu-clock", "ns") for connection in two)
    worker, main = Named("worker-*", "", "label"), Named("main", "app", "user")
    run, blind = Named("Work.run", "perf-*.map", "user"), Named("[app]", "app", "unnamed")
    assert one.stacks == {(worker, main, run, blind): Weight(21, 3), (worker, main): Weight(7, 1)}
    assert (other.stacks, one.unit, one.total) == (one.stacks, "ns", Weight(28, 4))


def test_an_event_that_only_one_has(two: tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]) -> None:
    sides = [Side(connection, "x", 1, 1) for connection in two]
    assert [side.event for side in profiles(*sides)] == ["cpu-clock", "cpu-clock"]
    with pytest.raises(PerfcaseError, match="no samples of an event cycles"):
        profiles(*sides, "cycles")

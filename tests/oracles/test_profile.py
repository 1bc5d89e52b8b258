"""function_profile and call_tree against `perf report` (both forms) and the folded callchains of `perf script`.

The tools are asked without symbols (tools/run.py), so a function is an (object, address) on both sides. perf report
prints periods and counts of the self column exactly; of the column with callees only a percentage with two
decimals, so that one is compared to half a unit of the last place, and exactly with perf script's callchains.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from typing import NamedTuple

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import perf_report, perf_script
from tests.oracles.tools.address import Places

OURS = """
SELECT p.event, p.dso, f.address, sum(p.self_count)::BIGINT, sum(p.self_period)::BIGINT,
    sum(p.total_count)::BIGINT, sum(p.total_period)::BIGINT, sum(p.self_ratio), sum(p.total_ratio)
FROM function_profile AS p
JOIN (SELECT DISTINCT label, dso, is_kernel, address FROM frame_label) AS f
    ON f.label = p.symbol AND f.dso = p.dso AND f.is_kernel = p.is_kernel
GROUP BY ALL
"""


class Function(NamedTuple):
    """The cells of a row of function_profile."""

    self_count: int
    self_period: int
    total_count: int
    total_period: int
    self_ratio: float
    total_ratio: float


def function_profile(case) -> dict[tuple[str, str, int], Function]:
    return {(event, dso, address): Function(*cells) for event, dso, address, *cells in case.rows(OURS)}


@each_with("report-self")
def test_report_no_children(capture: Capture, case_of) -> None:
    """Every row: samples and period exactly, and the share."""
    ours = function_profile(case_of(capture))
    places = Places(perf_script.mappings(capture.text("mmaps")))
    theirs: dict[tuple[str, str, int], perf_report.Row] = {}
    for section in perf_report.sections(capture.text("report-self")):
        for row in section.rows:
            assert row.address is not None, "perf found a name: it shall have none"
            dso = places.kernel_if_unknown(row.dso, row.address)
            key = (section.event, dso, places.in_memory(row.dso, row.address))
            assert key not in theirs
            theirs[key] = row
    assert_same(
        Counter((*key, row.self_count, row.self_period) for key, row in ours.items() if row.self_count),
        Counter((*key, row.sample_count, row.period) for key, row in theirs.items()),
    )
    for key, row in theirs.items():
        assert abs(100 * ours[key].self_ratio - row.self_percent) <= 0.005 + 1e-9, key


@each_with("report-children")
def test_report_children(capture: Capture, case_of) -> None:
    """Every row of perf is accounted for: it is a function's self, its total, or both.

    perf names a sampled instruction by its address in the file and a caller by its address in memory, so that one
    function has a row of each kind; and of the second kind one for every process that mapped the file elsewhere.
    """
    ours = function_profile(case_of(capture))
    places = Places(perf_script.mappings(capture.text("mmaps")))
    selfs: Counter[tuple] = Counter()
    totals: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for section in perf_report.sections(capture.text("report-children")):
        for row in section.rows:
            assert row.address is not None, "perf found a name: it shall have none"
            in_file = places.in_file(row.dso, row.address)
            if in_file is not None:
                assert row.sample_count == 0, "a caller's row has no samples of its own"
                totals[section.event, row.dso, in_file].append(row.children_percent or 0.0)
                continue
            is_self_only = places.is_file(row.dso) or places.in_memory(row.dso, row.address) != row.address
            dso = places.kernel_if_unknown(row.dso, row.address)
            key = (section.event, dso, places.in_memory(row.dso, row.address))
            if row.sample_count:
                selfs[*key, row.sample_count, row.period] += 1
            if row.children_percent is None:
                totals[key].append(row.self_percent)
            elif not is_self_only or not has_chains(capture, section.event):
                totals[key].append(row.children_percent)
    assert_same(
        Counter((*key, row.self_count, row.self_period) for key, row in ours.items() if row.self_count), selfs, "self"
    )
    if "dwarf" in capture.id:
        # Without the object files perf finds no caller; perfcase follows frame pointers. Callers: test_unwind_live.
        assert totals.keys() <= ours.keys()
        return
    assert_same(Counter(ours.keys()), Counter(totals.keys()), "functions")
    for key, parts in totals.items():
        assert abs(100 * ours[key].total_ratio - sum(parts)) <= 0.005 * len(parts) + 1e-9, key


@functools.lru_cache(maxsize=8)
def has_chains(capture: Capture, event: str) -> bool:
    script = capture.text("script" if capture.has("script") else "script-no-cpu")
    return any(sample.has_chain and sample.frames for sample in perf_script.samples(script) if sample.event == event)


def chains(capture: Capture) -> list[tuple[str, int, tuple[tuple[str, int], ...]]]:
    """(event, period, frames leaf first) of every sample, as perf script prints them."""
    places = Places(perf_script.mappings(capture.text("mmaps")))
    return [
        (sample.event, sample.period, tuple((frame.dso, frame.address) for frame in places.frames(sample)))
        for sample in perf_script.samples(capture.text("script"))
    ]


@each_with("script")
def test_totals_are_exactly_those_of_the_callchains(capture: Capture, case_of) -> None:
    counts: Counter[tuple] = Counter()
    periods: Counter[tuple] = Counter()
    for event, period, frames in chains(capture):
        for frame in set(frames):
            counts[event, *frame] += 1
            periods[event, *frame] += period
    ours = function_profile(case_of(capture))
    assert_same(
        Counter((*key, row.total_count, row.total_period) for key, row in ours.items()),
        Counter((*key, count, periods[key]) for key, count in counts.items()),
    )


@each_with("script")
def test_call_tree(capture: Capture, case_of) -> None:
    """Every node of the tree of callchains, root first."""
    case = case_of(capture)
    places = {
        label: (dso, address)
        for label, dso, address in case.rows("SELECT DISTINCT label, dso, address FROM frame_label")
    }
    theirs: dict[tuple, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for event, period, frames in chains(capture):
        rooted = frames[::-1]
        for depth in range(1, len(rooted) + 1):
            cells = theirs[event, rooted[:depth]]
            is_leaf = depth == len(rooted)
            for cell, value in enumerate((is_leaf, 1, period * is_leaf, period)):
                cells[cell] += value
    ours: dict[tuple, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for event, path, *cells in case.rows(
        "SELECT event, path, self_count, total_count, self_period, total_period FROM call_tree"
    ):
        key = (event, tuple(places[label] for label in path.split(";")))
        ours[key] = [a + b for a, b in zip(ours[key], cells, strict=True)]
    assert_same(
        Counter((key, *cells) for key, cells in ours.items()),
        Counter((key, *cells) for key, cells in theirs.items()),
    )

"""page_fault_profile against `perf report`: every row by code (object and address) and every row by data (object)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.oracles.captures import Recorded, recorded_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import perf_report

CAPTURES = [pytest.param(capture, id=capture.id) for capture in recorded_with("report-data")]


@pytest.mark.parametrize("capture", CAPTURES)
def test_by_code(capture: Recorded, case_of) -> None:
    ours = Counter()
    for event, dso, address, samples, faults in case_of(capture).rows(
        "SELECT p.event, p.dso, f.address, p.sample_count, p.fault_count FROM page_fault_profile AS p"
        " JOIN (SELECT DISTINCT label, dso, address FROM frame_label) AS f ON f.label = p.symbol AND f.dso = p.dso"
    ):
        ours[event, dso, address, "samples"] += samples
        ours[event, dso, address, "faults"] += faults
    theirs = Counter()
    for section in perf_report.sections(capture.text("report-self")):
        for row in section.rows:
            theirs[section.event, row.dso, row.address, "samples"] += row.sample_count
            theirs[section.event, row.dso, row.address, "faults"] += row.period
    assert sum(theirs.values()) > 100
    assert_same(ours, theirs)


@pytest.mark.parametrize("capture", CAPTURES)
def test_by_data(capture: Recorded, case_of) -> None:
    """perf calls memory without a file anon."""
    ours = Counter(
        dict(case_of(capture).rows(
            "SELECT CASE mapped WHEN 'anonymous memory' THEN 'anon' ELSE mapped END, sum(sample_count)::BIGINT"
            " FROM page_fault_profile GROUP BY 1"
        ))
    )  # fmt: skip
    theirs = Counter()
    for line in capture.text("report-data").splitlines():
        if line.strip() and not line.startswith("#"):
            samples, dso = line.split("|")
            theirs[dso.strip()] += int(samples)
    assert len(theirs) >= 4
    assert_same(ours, theirs)

"""A recording without times: every sample has the name that its thread had at that place in the file.

It was made on one CPU, so that this order is that of time (see tests/data/captures/README.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from perfcase.case import store
from tests.oracles.captures import Recorded, recorded_with
from tests.oracles.compare import assert_same
from tests.oracles.conftest import Case
from tests.support.cli import perfcase

(UNTIMED,) = recorded_with("script-untimed")
LINE = re.compile(r"\s*(\S.*?)\s+(\d+)/(\d+)\s+(\d+) (\S+): *")
BARE = re.compile(r"\s*(\S.*?)\s+(\d+) cpu-clock:u: ")


@pytest.fixture(scope="module", params=["perf.data", "text"])
def case(
    request: pytest.FixtureRequest, case_of: Callable[[Recorded], Case], tmp_path_factory: pytest.TempPathFactory
) -> Case:
    if request.param == "perf.data":
        return case_of(UNTIMED)
    path = tmp_path_factory.mktemp("untimed") / "x.txt"
    path.write_text(UNTIMED.text("script-bare"))
    return Case(store.open_case(path, path.with_suffix(".case")))


def by_name(text: str) -> Counter[str]:
    """What ``perf report --sort comm`` counts."""
    found = Counter({comm: int(count) for count, comm in re.findall(r"^ *(\d+) *\|(.*\S)", text, re.MULTILINE)})
    assert found.keys() == {"bash", "awk", "two words", "sh", "seq"}
    return found


def test_every_sample_in_its_order(case_of: Callable[[Recorded], Case]) -> None:
    rows = case_of(UNTIMED).rows(
        "SELECT n.comm, t.pid, t.tid, s.period, e.name FROM sample AS s JOIN thread AS t USING (utid)"
        " JOIN thread_name AS n USING (name_id) JOIN perf_event AS e USING (event_id) ORDER BY s.sample_id"
    )
    theirs = [LINE.fullmatch(line) for line in UNTIMED.text("script-untimed").splitlines()]
    assert [tuple(map(str, row)) for row in rows] == [found.groups() for found in theirs if found]
    assert len(rows) == len(theirs) > 70


def test_every_sample_of_the_text(case: Case) -> None:
    rows = case.rows(
        "SELECT n.comm, t.tid FROM sample AS s JOIN thread AS t USING (utid) JOIN thread_name AS n USING (name_id) ORDER BY s.sample_id"
    )
    theirs = [BARE.match(line) for line in UNTIMED.text("script-bare").splitlines()]
    assert [(comm, str(tid)) for comm, tid in rows] == [found.groups() for found in theirs if found]


def test_samples_by_name(case: Case, tmp_path: Path) -> None:
    theirs = by_name(UNTIMED.text("report-comm"))
    assert perfcase("export", case.folder, "--to", "folded", "-o", tmp_path / "x.folded").returncode == 0
    folded = Counter[str]()
    for line in (tmp_path / "x.folded").read_text().splitlines():
        path, _, weight = line.rpartition(" ")
        folded[path.split(";")[0]] += int(weight)
    period = sum(folded.values()) // theirs.total()
    assert_same(folded, Counter({comm: count * period for comm, count in theirs.items()}))


def test_only_one_name(case: Case) -> None:
    """What is chosen by name is chosen by the name of each sample; what has no time stays where no window was asked for."""
    theirs = by_name(UNTIMED.text("report-comm"))
    has_processes = case.value("SELECT count(*) > 0 FROM process WHERE pid > 0")
    for key in ("process", "thread") if has_processes else ("thread",):  # such a text tells no process ids
        for comm, count in theirs.items():
            assert case.only(f"{key}={comm}").value("SELECT count(*) FROM sample") == count, (key, comm)
    assert case.only("window=0s..100s").value("SELECT count(*) FROM sample") == 0


def test_it_is_said(case: Case) -> None:
    ((severity, count),) = case.rows("SELECT severity, coalesce(count, 1) FROM import_issue WHERE kind = 'no_time'")
    assert severity == "info"
    assert count in (1, UNTIMED.text("script-untimed").count("\n"))

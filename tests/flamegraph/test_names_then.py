"""What ran as one program before it became another is booked to the name that it had then, in every picture and file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from perfcase.case import query
from perfcase.stacks.fetching import off_cpu_stacks, off_wake_stacks, sample_stacks
from tests.support.cli import perfcase
from tests.support.fakecase import make_case

# A shell forks a child, 1, which runs as bash until it executes ls; 2 wakes it.
ROWS = {
    "capture": [{"duration_ns": 100}],
    "process": [{"upid": 1, "pid": 7, "name": "ls"}],
    "thread": [
        {"utid": 0, "tid": 0, "pid": 0, "comm": "swapper"},
        {"utid": 1, "tid": 7, "upid": 1, "pid": 7, "comm": "ls"},
        {"utid": 2, "tid": 9, "comm": "tar"},
    ],
    "thread_name": [
        {"name_id": 0, "utid": 0, "ts_ns": 0, "comm": "swapper"},
        {"name_id": 1, "utid": 1, "ts_ns": 0, "comm": "bash"},
        {"name_id": 2, "utid": 1, "ts_ns": 50, "comm": "ls"},
        {"name_id": 3, "utid": 2, "ts_ns": 0, "comm": "sh"},
        {"name_id": 4, "utid": 2, "ts_ns": 90, "comm": "tar"},
    ],
    "perf_event": [{"event_id": 0, "source_id": 0, "name": "cpu-clock", "sample_count": 4}],
    "frame": [{"frame_id": 0, "address": 16, "symbol": "work", "is_kernel": False, "is_inlined": False}],
    "sample": [
        {"sample_id": number, "ts_ns": ts, "utid": 1, "name_id": name, "event_id": 0, "period": 10, "frame_id": 0, "cpu_mode": 2}
        for number, (ts, name) in enumerate([(10, 1), (20, 1), (30, 1), (60, 2)])
    ],
    "thread_state": [
        {"ts_ns": 0, "duration_ns": 5, "utid": 1, "name_id": 1, "state": "sleeping", "waker_utid": 2, "waker_name_id": 3, "is_open": False},
        {"ts_ns": 70, "duration_ns": 7, "utid": 1, "name_id": 2, "state": "sleeping", "waker_utid": 2, "waker_name_id": 3, "is_open": False},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_case(tmp_path_factory.mktemp("names") / "x.case", ROWS)


def test_flame_graphs(case: Path) -> None:
    def weights(stacks: object) -> dict[str, int]:
        found: Counter[str] = Counter()
        for path, weight in stacks:
            found[";".join(str(getattr(step, "name", step)) for step in (path[0], path[-1]))] += weight
        return dict(found)

    with query.connect(case) as connection:
        assert weights(sample_stacks(connection, "cpu-clock")) == {"bash;work": 30, "ls;work": 10}
        assert weights(sample_stacks(connection, "cpu-clock", "comm = 'bash'")) == {"bash;work": 30}
        assert weights(off_cpu_stacks(connection)) == {"bash;[sleeping]": 5, "ls;[sleeping]": 7}
        assert weights(off_wake_stacks(connection)) == {"bash;woken by sh": 5, "ls;woken by sh": 7}


@pytest.mark.parametrize("form", ["folded", "speedscope", "firefox"])
def test_files(case: Path, form: str, tmp_path: Path) -> None:
    assert perfcase("export", case, "--to", form, "-o", tmp_path / "x").returncode == 0
    text = (tmp_path / "x").read_text()
    assert "bash" in text
    if form == "folded":
        assert sorted(text.splitlines()) == ["bash;work 30", "ls;work 10"]


def test_views(case: Path) -> None:
    with query.connect(case) as connection:
        assert connection.execute("SELECT comm, waker_comm, off_cpu_ns FROM off_wake ORDER BY comm").fetchall() == [
            ("bash", "sh", 5), ("ls", "sh", 7)
        ]  # fmt: skip
        assert connection.execute("SELECT comm, off_cpu_ns FROM off_cpu_by_thread ORDER BY comm").fetchall() == [
            ("bash", 5), ("ls", 7)
        ]  # fmt: skip

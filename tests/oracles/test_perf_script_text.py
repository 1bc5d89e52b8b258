"""A capture imported from its perf.data and from what perf script printed of it: the same samples, schedules and calls.

The text is asked with `--ns`, without symbols (tools/run.py). It does not hold the recording's first moment, so times
are compared on the recording's own clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.oracles.captures import Recorded, recorded_with
from tests.oracles.compare import assert_same
from tests.oracles.conftest import Case

CAPTURES = [pytest.param(capture, id=capture.id) for capture in recorded_with("script-trace")]

START = "(SELECT start_clock_ns FROM capture)"
# Every figure that both inputs hold. Rows by tid, since the keys of threads are the capture's own.
SAME = {
    "samples": f"SELECT s.ts_ns + {START}, s.cpu, t.tid, t.pid, v.name, s.period, s.cpu_mode FROM sample AS s"
    " JOIN perf_event AS v USING (event_id) LEFT JOIN thread AS t USING (utid)",
    "callchains": f"SELECT s.ts_ns + {START}, t.tid, v.name, list((d.name, f.address) ORDER BY e.position)"
    " FROM sample AS s JOIN perf_event AS v USING (event_id) JOIN thread AS t USING (utid)"
    " JOIN stack_entry AS e USING (stack_id) JOIN frame AS f ON f.frame_id = e.frame_id LEFT JOIN dso AS d USING (dso_id)"
    " GROUP BY s.sample_id, s.ts_ns, t.tid, v.name",
    "switches": f"SELECT ts_ns + {START}, cpu, prev_comm, prev_pid, prev_prio, prev_state, next_comm, next_pid, next_prio"
    " FROM sched_switch",
    "wakeups": f"SELECT w.ts_ns + {START}, w.cpu, t.tid, w.comm, w.pid, w.prio, w.target_cpu FROM sched_wakeup AS w"
    " LEFT JOIN thread AS t USING (utid)",
    "states": f"SELECT x.ts_ns + {START}, x.duration_ns, t.tid, x.state, x.cpu, w.tid FROM thread_state AS x"
    " JOIN thread AS t USING (utid) LEFT JOIN thread AS w ON w.utid = x.waker_utid",
    "calls": f"SELECT c.ts_ns + {START}, c.duration_ns, t.tid, c.name, c.args, c.ret FROM syscall AS c"
    " JOIN thread AS t USING (utid)",
    "requests": f"SELECT issued_ts_ns + {START}, completed_ts_ns + {START}, device, sector, size_bytes, rwbs FROM block_io",
}  # fmt: skip


@pytest.fixture(scope="module")
def text_case(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Recorded], Case]:
    folder: Path = tmp_path_factory.mktemp("perf-script")
    cases: dict[str, Case] = {}

    def get(capture: Recorded) -> Case:
        if capture.id not in cases:
            path = folder / f"{capture.id.replace('/', '-')}.txt"
            # The line of --header that tells the names of the system calls.
            path.write_text(f"# arch : {capture.arch}\n{capture.text('script-trace')}")
            cases[capture.id] = Case(store.open_case(path, path.with_suffix(".case")).folder)
        return cases[capture.id]

    return get


def hashable(value: object) -> object:
    return tuple(map(hashable, value)) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("what", SAME)
@pytest.mark.parametrize("capture", CAPTURES)
def test_text_and_data_say_the_same(capture: Recorded, what: str, case_of, text_case) -> None:
    rows = [Counter(map(hashable, case.rows(SAME[what]))) for case in (text_case(capture), case_of(capture))]
    assert_same(*rows, what)


@pytest.mark.parametrize("capture", CAPTURES)
def test_every_line_is_understood(capture: Recorded, text_case) -> None:
    assert text_case(capture).rows("SELECT kind, message FROM import_issue") == []


def test_other_tracepoints_have_tables(text_case) -> None:
    """irq events: the fields that were printed, with numbers as numbers."""
    (capture,) = (c for c in recorded_with("script-trace") if c.name == "kwork")
    case = text_case(capture)
    assert case.value("SELECT count(*) FROM irq_handler_entry WHERE irq IS NOT NULL AND name IS NOT NULL") == 31
    assert case.rows("SELECT DISTINCT ret FROM irq_handler_exit") == [(1,)]
    assert case.value("SELECT count(*) FROM softirq_raise WHERE vec BETWEEN 0 AND 9 AND action IS NOT NULL") == 34


def test_calls_of_their_own_tracepoints(case_of, tmp_path: Path) -> None:
    """syscalls:sys_enter_openat and its like print no number: the name has to do."""
    (capture,) = recorded_with("script-typed")
    path = tmp_path / "typed.txt"
    path.write_text(f"# arch : {capture.arch}\n{capture.text('script-typed')}")
    text = Case(store.open_case(path, tmp_path / "typed.case").folder)
    ours, theirs = (Counter(map(hashable, case.rows(SAME["calls"]))) for case in (text, case_of(capture)))
    assert sum(theirs.values()) > 20
    assert_same(ours, theirs)


def test_names_are_the_texts_own(tmp_path: Path) -> None:
    """Functions that perf named: no kallsyms is needed."""
    path = tmp_path / "named.txt"
    path.write_text(
        "app 7/7 [000] 1.000001:  250000 cpu-clock:u: \n\t401136 inner+0x6 (/bin/app)\n\t401200 main+0x10 (/bin/app)\n\n"
        "app 7/7 [000] 1.000251:  250000 cpu-clock:u: \n\t401138 inner+0x8 (/bin/app)\n\t401200 main+0x10 (/bin/app)\n\n"
    )
    case = store.open_case(path, tmp_path / "x.case")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT symbol, dso, self_count, total_count, self_period FROM function_profile ORDER BY symbol"
        ).fetchall()
    assert rows == [("inner", "app", 2, 2, 500000), ("main", "app", 0, 2, 0)]

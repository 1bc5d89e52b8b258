"""What threads waited for: on real captures against the states, and against critical_path; on programs of which the answer is known."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perfcase.case import query
from perfcase.case.kept import have_findings
from tests.oracles import waits
from tests.oracles.captures import Capture, each_with
from tests.oracles.tools import run
from tests.support.alone import alone
from tests.support.callsim import NUMBERS
from tests.support.imports import imported
from tests.support.perfdata import Recording

EVENTS = ("sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup_new", "sched:sched_process_fork", "sched:sched_process_exec",
          "sched:sched_process_exit", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit")  # fmt: skip
BUSY = """
SELECT writer_utid AS utid, ts_ns, end_ts_ns FROM request WHERE writer_utid IS NOT NULL AND duration_ns > 0
UNION ALL
SELECT utid, ts_ns, ts_ns + unanswered_ns FROM request WHERE unanswered_ns > 0
UNION ALL
SELECT utid, ts_ns, answer_ts_ns FROM socket_turn WHERE is_client AND gap_ns > 0
UNION ALL
SELECT t.utid, p.start_ts_ns, coalesce(p.end_ts_ns, 9223372036854775807) FROM process AS p JOIN thread AS t ON t.upid = p.upid AND t.tid = p.pid
WHERE p.start_ts_ns IS NOT NULL AND p.upid NOT IN (SELECT upid FROM request)
  AND coalesce(p.parent_upid NOT IN (SELECT upid FROM process WHERE pid = 2 AND name = 'kthreadd'), true)
"""


@each_with("timehist")
def test_the_parts_sum_to_all_that_a_thread_with_work_waited(capture: Capture, case_of) -> None:
    """To the nanosecond: its states other than running, while it has work, where no switch is missing."""
    case = case_of(capture)
    assert case.rows("SELECT utid FROM blame WHERE duration_ns <= 0") == []
    overlapping = case.rows("""
        SELECT utid, ts_ns FROM (SELECT utid, ts_ns, max(ts_ns + duration_ns) OVER (PARTITION BY utid ORDER BY ts_ns ROWS BETWEEN UNBOUNDED
            PRECEDING AND 1 PRECEDING) AS before_ns FROM blame) WHERE before_ns > ts_ns
    """)
    assert overlapping == []
    theirs = case.rows(f"""
        WITH edge AS (
            SELECT utid, ts_ns, 1 AS n FROM ({BUSY}) UNION ALL SELECT utid, end_ts_ns, -1 FROM ({BUSY})
        ), level AS (
            SELECT utid, ts_ns, sum(n) OVER w AS n, lead(ts_ns) OVER w AS until_ns FROM edge WINDOW w AS (PARTITION BY utid ORDER BY ts_ns, n)
        ), waited AS (
            SELECT utid, greatest(ts_ns, coalesce(max(ts_ns + duration_ns) OVER (PARTITION BY utid ORDER BY ts_ns + duration_ns, ts_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), ts_ns)) AS ts_ns, ts_ns + duration_ns AS end_ns, state
            FROM thread_state WHERE utid <> 0
        )
        SELECT w.utid, sum(least(w.end_ns, l.until_ns) - greatest(w.ts_ns, l.ts_ns))::BIGINT
        FROM waited AS w JOIN level AS l ON l.utid = w.utid AND l.n > 0 AND w.ts_ns < l.until_ns AND l.ts_ns < w.end_ns
        WHERE w.state <> 'running' AND w.end_ns > w.ts_ns AND w.utid NOT IN (SELECT utid FROM thread_state WHERE is_ambiguous)
        GROUP BY w.utid ORDER BY w.utid
    """)
    ours = case.rows(
        "SELECT utid, sum(duration_ns)::BIGINT FROM blame WHERE work <> 'thread'"
        " AND utid NOT IN (SELECT utid FROM thread_state WHERE is_ambiguous) GROUP BY utid ORDER BY utid"
    )
    assert ours == theirs


@each_with("timehist")
def test_a_kernel_thread_is_no_command_and_waits_for_a_disk_or_a_cpu_at_most(capture: Capture, case_of) -> None:
    case = case_of(capture)
    assert (
        case.rows("""
        SELECT t.comm, b.work, s.state FROM blame AS b
        JOIN thread AS t USING (utid)
        JOIN process AS p ON p.upid = t.upid
        JOIN process AS q ON q.upid = p.parent_upid AND q.pid = 2 AND q.name = 'kthreadd'
        JOIN thread_state AS s ON s.utid = b.utid AND s.ts_ns <= b.ts_ns AND s.ts_ns + s.duration_ns > b.ts_ns
        WHERE b.work = 'command' OR b.work = 'thread' AND s.state IN ('sleeping', 'idle_sleep')
    """)
        == []
    )


@each_with("timehist")
def test_who_ran_meanwhile_is_who_the_critical_path_has(capture: Capture, case_of) -> None:
    """The path also follows the threads that interrupts hit: what the blame follows is a part of it."""
    case, count = case_of(capture), 0
    for (utid,) in case.rows(
        "SELECT utid FROM blame WHERE cause = 'running' GROUP BY utid ORDER BY count(*) DESC LIMIT 12"
    ):
        case.rows(f"SET VARIABLE critical_path_utid = {utid}")
        try:
            wrong = case.rows(f"""
                WITH path AS (SELECT ts_ns, ts_ns + duration_ns AS end_ns, on_utid, on_state FROM critical_path)
                SELECT b.ts_ns, b.duration_ns, b.on_utid, sum(least(p.end_ns, b.ts_ns + b.duration_ns) - greatest(p.ts_ns, b.ts_ns)) AS seen_ns
                FROM blame AS b JOIN path AS p ON p.ts_ns < b.ts_ns + b.duration_ns AND p.end_ns > b.ts_ns AND p.on_utid = b.on_utid AND p.on_state = 'running'
                WHERE b.utid = {utid} AND b.cause = 'running'
                GROUP BY ALL HAVING seen_ns <> b.duration_ns
            """)
            count += case.value(f"SELECT count(*) FROM blame WHERE utid = {utid} AND cause = 'running'")
        finally:
            case.rows("SET VARIABLE critical_path_utid = NULL")
        assert wrong == [], utid
    if capture.id.startswith("x86_64/o"):
        assert count > 0


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each named process waited for, of the program with faults and of the healthy one: by process, cause, thread and call."""
    found = {}
    for kind in ("faulty", "healthy", "held"):
        path = tmp_path_factory.mktemp("waits") / f"{kind}.data"
        events = [argument for event in EVENTS for argument in ("-e", event)]
        program = [sys.executable, "-m", "tests.oracles.waits", kind]
        if not run.available("perf"):
            pytest.skip("perf is not installed")
        with alone("recorders"):
            done = subprocess.run(
                ["perf", "record", "-q", "-B", "-k", "CLOCK_MONOTONIC", "-m", "2M", *events, "-o", str(path), "--", *program],
                capture_output=True, text=True, cwd=Path(__file__).parents[2],
            )  # fmt: skip
        if not path.exists() or path.stat().st_size == 0:
            pytest.skip(f"perf record is not permitted here: {done.stderr.strip()[-300:]}")
        with query.connect(imported(path).folder) as connection:
            rows = connection.execute(
                "SELECT comm, cause, on_comm, on_call, sum(wait_ns)::BIGINT FROM blame_by_comm WHERE work <> 'thread' GROUP BY ALL"
            ).fetchall()
            have_findings(connection)  # a rule at a time: all in one plan take much memory
            fired = connection.execute("SELECT message FROM finding WHERE finding = 'answers_wait'").fetchall()
        found[kind] = {tuple(row[:4]): row[4] for row in rows}
        found[f"fired when {kind}"] = [message for (message,) in fired]
    return found


CAPTURES = Path(__file__).parents[1] / "data" / "findings"


@pytest.mark.parametrize(("kind", "is_held"), [("report", True), ("pool", False)])
def test_a_wait_for_the_lock_of_an_interpreter_is_followed_to_who_computes(kind: str, is_held: bool) -> None:
    """A thread of CPython waits for 5 ms at a time. The threads of an idle pool wait with a limit of time, too, and hold nothing."""
    with query.connect(imported(CAPTURES / f"lock-{kind}.perfcase.xz").folder) as connection:
        ((request_ns, waited_ns, vain_ns),) = connection.execute("""
            SELECT (SELECT sum(duration_ns) FROM request),
              coalesce(sum(wait_ns) FILTER (cause IN ('running', 'cpu_taken') AND on_comm = 'report'), 0),
              coalesce(sum(wait_ns) FILTER (cause IN ('timeout', 'interrupt')), 0)
            FROM blame_by_comm WHERE comm = 'server' AND work = 'request' AND (call = 'futex' OR call IS NULL)
        """).fetchall()
        ((of_pool_ns,),) = connection.execute(
            "SELECT coalesce(sum(wait_ns), 0) FROM blame_by_comm WHERE comm = 'worker' AND cause = 'running'"
        ).fetchall()
        have_findings(connection)
        fired = connection.execute("SELECT message FROM finding WHERE finding = 'answers_wait'").fetchall()
    if is_held:
        assert waited_ns > 0.5 * request_ns
        assert vain_ns < 0.1 * request_ns
        ((message,),) = fired
        assert "a lock or condition (futex) that its thread report had, which ran" in message
    else:
        assert (waited_ns, fired) == (0, [])
        # Three threads waited for two seconds each. To hand over the interpreter's lock takes some microseconds.
        assert of_pool_ns < 0.01 * 6e9


@pytest.mark.parametrize(("kind", "stuck_count"), [("hold", 2), ("hold-order", 0)])
def test_a_request_without_an_answer_is_work_until_the_end(kind: str, stuck_count: int) -> None:
    """Two threads wait for each other's lock until the recording ends; in the twin both take the locks in one order."""
    with query.connect(imported(CAPTURES / f"{kind}.perfcase.xz").folder) as connection:
        rows = connection.execute("""
            SELECT r.unanswered_ns / 1e9, (SELECT sum(b.duration_ns) FROM blame AS b WHERE b.utid = r.utid AND b.work = 'request' AND b.cause = 'open'
              AND b.ts_ns >= r.ts_ns) / r.unanswered_ns, c.end_ts_ns - r.ts_ns - r.unanswered_ns
            FROM request AS r JOIN recorded_span AS c ON c.table_name = 'syscall' WHERE r.unanswered_ns IS NOT NULL
        """).fetchall()
        bands = connection.execute("SELECT request_count FROM request_summary WHERE band = 'unanswered'").fetchall()
    assert len(rows) == stuck_count
    assert bands == ([(stuck_count,)] if stuck_count else [])
    assert all(2 < waited_s < 5 and open_ratio > 0.95 and left_ns == 0 for waited_s, open_ratio, left_ns in rows), rows


def waited(found: dict[tuple, int], comm: str, cause: str, on: str = "", call: str | None = "") -> float:
    """Seconds that a process waited for this."""
    return 1e-9 * sum(
        ns
        for (whose, what, on_comm, on_call), ns in found.items()
        if whose == comm and what == cause and (on_comm or "").startswith(on) and call in ("", on_call)
    )


def test_a_convoy_waits_for_the_holders(known) -> None:
    total = 3 * waits.TURNS * waits.HOLD_S
    each = [waited(known["faulty"], f"convoy{number}", "running", "convoy") for number in range(3)]
    # Two of three wait while the third computes. On a busy machine one may be done before another has begun.
    assert sum(each) > 0.2 * 2 * total
    for number in range(3):
        assert waited(known["healthy"], f"convoy{number}", "running", "convoy") < 0.02 * total


def test_a_lazy_peer_two_hops_away_is_named(known) -> None:
    total = waits.TURNS * waits.SLEEP_S
    for comm in ("first", "second"):
        slept = waited(known["faulty"], comm, "sleep", "third", "clock_nanosleep")
        assert 0.8 * total < slept < 1.5 * total
        assert waited(known["healthy"], comm, "sleep", "third") < 0.02 * total
    assert waited(known["faulty"], "first", "sleep", "second") == 0


def test_who_holds_a_lock_and_waits_for_its_client_is_named(known) -> None:
    idle = waited(known["faulty"], "waiter", "no_work", "holder", "recvfrom")
    # The waiter has a question nearly all the time, and the holder holds what it needs for nearly all the time of the other's pauses.
    assert idle > 0.3 * waits.TURNS * 6 * waits.SLEEP_S
    assert waited(known["healthy"], "waiter", "no_work", "holder") < 0.2 * idle
    # How much of the recording that was depends on how fast Python starts.
    for message in known["fired when held"]:
        held = r"waited for the lock of a file \(flock, fcntl\), due to holder \(\d+\), which had nothing to do \(in recvfrom"
        assert re.search(held, message), message
    assert known["fired when healthy"] == []


def test_a_wait_for_the_reply_to_a_stream_is_followed_to_the_other_end(known) -> None:
    """The sender writes unasked on a connection that it took; who waits for it waits for the copy, which sleeps."""
    total = waits.TURNS * waits.SLEEP_S
    for comm in ("asker", "commits"):
        slept = waited(known["faulty"], comm, "sleep", "copy", "clock_nanosleep")
        assert (0.8 if comm == "asker" else 0) * total <= slept < 1.5 * total
        assert waited(known["healthy"], comm, "sleep", "copy") < 0.02 * total
    assert waited(known["faulty"], "asker", "no_work") < 0.1 * total


def test_an_answer_in_two_parts_is_no_stream(known) -> None:
    """Who sent it and has nothing to do does not wait for a reply: its client has all of it, and thinks."""
    for kind in ("faulty", "healthy"):
        # Most of it is for the lock; on a busy machine both get to wait less often.
        assert waited(known[kind], "waits", "no_work", "pager", "recvfrom") > 0.1 * waits.TURNS * 6 * waits.SLEEP_S
        assert waited(known[kind], "waits", "sleep", "reader") == 0


def test_who_has_the_cpu_is_named(known) -> None:
    # Each of the two needs 0.2 s of the one CPU.
    assert waited(known["faulty"], "bound", "cpu_taken", "hog") > 0.1
    assert waited(known["healthy"], "bound", "cpu_taken", "hog") == 0


def test_a_bound_that_blame_reaches_is_an_issue_in_the_table(tmp_path: Path) -> None:
    """A wait in 300 parts: each looks at 256 behind it."""
    recording = Recording()
    recording.fork(1000, 10, 10, 1, 1)
    for start in range(10_000, 30_010_000, 100_000):
        recording.enter(start, 10, 10, NUMBERS["poll"], [1 << 40, 1, 50])
        recording.switch(start + 10_000, 0, 10, 1, 0)
        recording.waking(start + 50_000, 0, 0, 10)
        recording.switch(start + 51_000, 0, 0, 0, 10)
        recording.exit(start + 52_000, 10, 10, NUMBERS["poll"], 0)
    case = imported(recording.write(tmp_path / "polls.data"))
    with query.connect(case.folder) as connection:
        rows = connection.execute(
            "SELECT kind, severity, count FROM import_issue WHERE kind LIKE '%not_followed'"
        ).fetchall()
        causes = connection.execute(
            "SELECT cause, count(*) FROM blame WHERE cause <> 'cpu_idle' GROUP BY ALL"
        ).fetchall()
    assert rows == [("parts_not_followed", "warning", 43)]
    assert causes == [("timeout", 300)]

"""C, "identifying an off-CPU bottleneck": a POST that waits for another service, through the event loops, and a GET that does not."""

from __future__ import annotations

import re

from tests.cases.conftest import Printed, QueryRows

GET, POST = "c-blocking-call/get.perfcase", "c-blocking-call/post.perfcase"
SERVICE_B = "[::ffff:127.0.0.1]:18081"


def test_the_findings_name_service_b(rows: QueryRows) -> None:
    peer, answers, pool = rows("sql", POST, "FROM finding")
    assert peer["finding"] == "slow_peer"
    assert peer["subject"].endswith(f" to {SERVICE_B}")
    assert answers["finding"] == "answers_wait"
    assert answers["message"].endswith(f"65.4 % of that time they waited for data from {SERVICE_B}")
    assert pool["finding"] == "pool_asleep"
    assert pool["message"].startswith(
        f"8 of 8 threads waited for answers from {SERVICE_B}, which vert.x-eventloo reads for them: 23.67 s"
    )
    assert [row["follows_from"] for row in (peer, answers, pool)] in (
        [None, *["slow_peer"] * 2],
        ["", *["slow_peer"] * 2],
    )
    assert rows("sql", GET, "FROM finding") == []


def test_diff_leads_with_what_the_requests_wait_for(rows: QueryRows) -> None:
    cause, requests, peer = rows("diff", GET, POST)[:3]
    assert (requests["view"], requests["measure"]) == ("request_summary", "network_avg_ns")
    for each, view, measure in ((cause, "blame_by_comm", "wait_ns"), (peer, "socket_answer", "gap_ns")):
        assert (each["view"], each["measure"], SERVICE_B in each["key"], each["a"]) == (view, measure, True, "")


def test_diff_says_it_in_a_sentence(printed: Printed) -> None:
    (line,) = [
        line for line in printed("diff", GET, POST).splitlines() if SERVICE_B in line and line.startswith("  B: ")
    ]
    assert re.fullmatch(rf"  B: vert\.x-eventloo waits [\d.]+ s/s more for data from {re.escape(SERVICE_B)}", line)


def test_the_report_says_it_on_its_first_screen(printed: Printed) -> None:
    lines = printed("report", POST).splitlines()[:12]
    assert any(
        line.startswith("  java (") and f"for data from {SERVICE_B}, by its thread vert.x-eventloo" in line
        for line in lines
    )


def test_the_event_loops_wait_at_service_b_and_wake_the_executors(rows: QueryRows) -> None:
    waits = rows("view", "peer_wait", POST, "--where", f"peer = '{SERVICE_B}' AND name = 'epoll_wait'")
    assert {row["comm"] for row in waits} == {"vert.x-eventloo"}
    wakers = rows("view", "off_wake", POST, "--where", "comm LIKE 'executor-%'")
    asleep = {name: sum(int(row["off_cpu_ns"]) for row in wakers if row["waker_comm"] == name) for name in
              {row["waker_comm"] for row in wakers}}  # fmt: skip
    assert asleep["vert.x-eventloo"] > 0.8 * sum(asleep.values())


def test_the_executors_are_all_in_a_futex(rows: QueryRows) -> None:
    """As the publication's table of calls: the time of each executor thread is in one call."""
    calls = rows("view", "syscall_summary", POST, "--where", "comm LIKE 'executor-%'")
    threads = {row["comm"] for row in calls}
    assert len(threads) == 8
    for thread in threads:
        mine = {row["name"]: int(row["duration_total_ns"]) for row in calls if row["comm"] == thread}
        assert mine["futex"] > 0.9 * sum(mine.values())

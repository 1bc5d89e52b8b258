"""A published investigation of a slow POST: its totals by thread and call, with the descriptors that it found.

The publication gives each thread's calls and their total time, and what the descriptors are (eventfds, connections to
service B, PostgreSQL); how the calls spread over the descriptors is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pytest

from tests.support import descriptors
from tests.support.viewtest import Case, filled

EVENT_LOOP, EXECUTOR = 1, 2
# Calls and total ms of each thread and call, as published.
PUBLISHED = {
    "GET": {
        (EVENT_LOOP, "futex"): (4112, 7257.119),
        (EVENT_LOOP, "epoll_pwait"): (405, 744.088),
        (EVENT_LOOP, "read"): (3555, 584.133),
        (EXECUTOR, "futex"): (980, 22990.778),
        (EXECUTOR, "ppoll"): (119, 444.694),
    },
    "POST": {
        (EVENT_LOOP, "epoll_pwait"): (7059, 19843.399),
        (EVENT_LOOP, "futex"): (6857, 83.480),
        (EVENT_LOOP, "read"): (7182, 65.832),
        (EVENT_LOOP, "write"): (3543, 63.328),
        (EXECUTOR, "ppoll"): (269, 23991.239),
        (EXECUTOR, "futex"): (318, 437.100),
    },
}
EVENTFDS = [157, 159]
SERVICE_B = [22, 87, 125, 130, 131, 132]
POSTGRESQL = [43]
# Descriptors that a thread's calls of a name go to, in turns.
USED = {
    (EVENT_LOOP, "epoll_pwait"): [156],
    (EVENT_LOOP, "read"): EVENTFDS + SERVICE_B,
    (EVENT_LOOP, "write"): SERVICE_B,
}


@contextmanager
def database(request: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """The capture of one kind of request."""
    with filled(Case(request)) as connection:
        fill(connection, request)
        descriptors.fill(connection)
        yield connection


def fill(connection: duckdb.DuckDBPyConnection, request: str) -> None:
    connection.execute("INSERT INTO process (upid, pid) VALUES (1, 4242)")
    connection.execute("""
        INSERT INTO thread (utid, tid, pid, upid, comm)
        VALUES (1, 4301, 4242, 1, 'event-loop'), (2, 4310, 4242, 1, 'executor')
    """)
    links = {156: ("anon_inode:[eventpoll]", "eventpoll", None)}
    links |= dict.fromkeys(EVENTFDS, ("anon_inode:[eventfd]", "eventfd", None))
    for fd in SERVICE_B + POSTGRESQL:
        links[fd] = (f"socket:[{9000 + fd}]", "socket", 9000 + fd)
        peer = ("10.1.0.7", 8443) if fd in SERVICE_B else ("10.1.0.9", 5432)
        connection.execute(
            "INSERT INTO proc_socket (ts_ns, snapshot, source_id, netns_inode, family, protocol, state, inode, local_address,"
            " local_port, peer_address, peer_port) VALUES (0, 0, 0, 1, 'inet', 'tcp', 'ESTAB', ?, '10.1.0.2', ?, ?, ?)",
            [9000 + fd, 30000 + fd, *peer],
        )
    for fd, (target, kind, inode) in links.items():
        connection.execute("INSERT INTO proc_fd VALUES (0, 0, 0, 1, 4242, ?, ?, ?, ?)", [fd, target, kind, inode])
    start_ns = {EVENT_LOOP: 0, EXECUTOR: 0}
    for (utid, name), (count, total_ms) in PUBLISHED[request].items():
        total_ns = round(total_ms * 1e6)
        fds = USED.get((utid, name), [])
        # The last takes what the division leaves over. Behind each ppoll the answer of PostgreSQL is read.
        connection.execute(
            """
            INSERT INTO syscall (ts_ns, exit_ts_ns, duration_ns, perf_duration_ns, utid, number, name, fd, ret, pairing)
            SELECT start, start + length, length, length, $utid, 0, $name, $fds[1 + i % len($fds)], 1, 'strict'
            FROM (
              SELECT i, $start + i * ($total // $count + 200) AS start,
                if(i = $count - 1, $total - ($count - 1) * ($total // $count), $total // $count) AS length
              FROM range($count) AS t (i)
            )
            """,
            {
                "utid": utid,
                "name": name,
                "fds": fds or [None],
                "start": start_ns[utid],
                "total": total_ns,
                "count": count,
            },
        )
        if name == "ppoll":
            connection.execute(
                "INSERT INTO syscall (ts_ns, exit_ts_ns, duration_ns, perf_duration_ns, utid, number, name, fd, ret, pairing)"
                " SELECT exit_ts_ns + 50, exit_ts_ns + 150, 100, 100, utid, 0, 'recvfrom', 43, 1, 'strict' FROM syscall"
                " WHERE name = 'ppoll'"
            )
        start_ns[utid] += total_ns + (count + 2) * 200


@pytest.mark.parametrize("request_kind", list(PUBLISHED))
def test_totals_of_each_thread_and_call_are_the_published_ones(request_kind: str) -> None:
    with database(request_kind) as connection:
        rows = connection.execute(
            "SELECT utid, name, call_count, round(duration_total_ns / 1e6, 3) FROM syscall_summary WHERE name <> 'recvfrom'"
        ).fetchall()
    assert {(utid, name): (count, total) for utid, name, count, total in rows} == PUBLISHED[request_kind]


def test_the_calls_stand_by_what_their_descriptors_are() -> None:
    with database("POST") as connection:
        rows = connection.execute("""
            SELECT kind, peer, name, count(*), sum(call_count), round(sum(duration_total_ns) / 1e6, 3) FROM syscall_by_fd
            WHERE utid = 1 GROUP BY ALL ORDER BY ALL
        """).fetchall()
    assert [row[:4] for row in rows] == [
        ("eventfd", None, "read", 2),
        ("eventpoll", None, "epoll_pwait", 1),
        ("socket", "10.1.0.7:8443", "read", 6),
        ("socket", "10.1.0.7:8443", "write", 6),
    ]
    reads = [row for row in rows if row[2] == "read"]
    assert sum(row[4] for row in reads) == 7182
    assert sum(row[5] for row in reads) == pytest.approx(65.832, abs=0.001)
    assert rows[3][4:] == (3543, 63.328)


def test_the_other_end_that_takes_the_time_comes_first() -> None:
    """In POST the executors' ppoll, by what they read next, and the event loop's own wait, which is for no one peer."""
    with database("POST") as connection:
        rows = connection.execute("""
            SELECT peer, comm, name, attributed_by, call_count, round(wait_ns / 1e6, 3) FROM peer_wait
            ORDER BY wait_ns DESC LIMIT 3
        """).fetchall()
    assert rows[0] == ("10.1.0.9:5432", "executor", "ppoll", "next_call", 269, 23991.239)
    assert rows[1] == ("anon_inode:[eventpoll]", "event-loop", "epoll_pwait", "descriptor", 7059, 19843.399)
    assert rows[2][:4] == ("10.1.0.7:8443", "event-loop", "write", "descriptor")

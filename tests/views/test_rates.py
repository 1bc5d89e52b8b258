"""Every rate of every view, on a capture whose rates are known by construction, and in every interval: also in the first and the
last one, which are shorter. No two sources were on for the same time, and none as long as the recorder says the capture is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.catalogue.views import load_views
from perfcase.diff.collect import collect
from tests.support.fakecase import make_case

S = 10**9
MS = 10**6
DURATION_S = 3.0
"""Between the recorder's two anchors."""
SNAPSHOTS_S = [0.25, 1.0, 2.5, 3.1]
COUNTERS_S = [0.2, 1.2, 2.2, 3.2]
"""perf stat's beginning, and the ends of its intervals."""
SPANS_S = {"thread_state": (0.4, 3.3), "syscall": (0.5, 3.0), "block_io": (0.45, 3.15), "sample": (0.6, 3.2)}
"""When the source of each was on."""

VMSTAT = {
    "pswpin": 20, "pswpout": 40, "pgpgin": 60, "pgpgout": 80, "pgfault": 500, "pgmajfault": 100, "pgfree": 120,
    "pgscan_kswapd": 140, "pgscan_direct": 160, "pgsteal_kswapd": 180, "pgsteal_direct": 20,
    "workingset_refault_file": 220, "workingset_refault_anon": 240,
}  # fmt: skip
"""Each second, as in all that follows."""
SYSTEM = {"interrupt_count": 260, "context_switch_count": 280, "fork_count": 300}
NET = {
    name: 20 * n
    for n, name in enumerate(
        ["rx_packet_count", "tx_packet_count", "rx_bytes", "tx_bytes", "rx_compressed_count", "tx_compressed_count", "rx_multicast_count", "rx_error_count",
         "tx_error_count", "tx_collision_count", "rx_drop_count", "tx_drop_count", "tx_carrier_error_count", "rx_frame_error_count", "rx_fifo_error_count",
         "tx_fifo_error_count"], 1,
    )
}  # fmt: skip
DISK = {
    name: 20 * n
    for n, name in enumerate(
        ["read_count", "write_count", "discard_count", "flush_count", "read_bytes", "write_bytes", "discard_bytes",
         "read_merge_count", "write_merge_count", "discard_merge_count"], 1,
    )
}  # fmt: skip
TCP = {
    name: 20 * n
    for n, name in enumerate(
        ["ActiveOpens", "PassiveOpens", "InSegs", "OutSegs", "AttemptFails", "EstabResets", "RetransSegs", "InErrs", "OutRsts",
         "TCPTimeouts", "ListenOverflows", "ListenDrops"], 1,
    )
}  # fmt: skip
PROCESS = {
    "minor_fault_count": 20, "major_fault_count": 40, "read_bytes": 60, "write_bytes": 80, "cancelled_write_bytes": 100,
    "user_ns": 200 * MS, "system_ns": 100 * MS,
}  # fmt: skip
GROWTH = {"resident_bytes": 4000, "resident_anon_bytes": 3000, "pss_bytes": 2000}
THREAD = {"voluntary_switch_count": 120, "involuntary_switch_count": 140, "run_queue_ns": 50 * MS}
CGROUP = {
    "cpu.stat.usage_usec": 300_000, "cpu.stat.nr_periods": 20, "cpu.stat.throttled_usec": 150_000, "io.stat.8:0.rbytes": 160,
    "io.stat.8:0.wbytes": 180, "cpu.pressure.some.total": 100_000, "memory.pressure.some.total": 200_000,
    "io.pressure.some.total": 250_000,
}  # fmt: skip
CPU = {
    "user_ns": 400, "nice_ns": 0, "system_ns": 100, "idle_ns": 400, "iowait_ns": 0, "irq_ns": 0, "softirq_ns": 0, "steal_ns": 100,
    "guest_ns": 0, "guest_nice_ns": 0,
}  # fmt: skip
"""Milliseconds."""

EXPECTED: dict[str, dict[str, float]] = {
    "vm_activity": {
        "swap_in_bytes_per_s": 20 * 4096, "swap_out_bytes_per_s": 40 * 4096, "block_in_bytes_per_s": 60 * 1024,
        "block_out_bytes_per_s": 80 * 1024, "interrupt_per_s": 260, "context_switch_per_s": 280, "fork_per_s": 300,
        "user_ratio": 0.4,
    },
    "paging": {
        "page_in_bytes_per_s": 60 * 1024, "page_out_bytes_per_s": 80 * 1024, "fault_per_s": 500, "major_fault_per_s": 100,
        "free_pages_per_s": 120, "scan_kswapd_pages_per_s": 140, "scan_direct_pages_per_s": 160, "steal_pages_per_s": 200, "refault_file_pages_per_s": 220,
        "refault_anon_pages_per_s": 240, "swap_in_pages_per_s": 20, "swap_out_pages_per_s": 40,
    },
    "net_utilization": {f"{name.removesuffix('_count').removeprefix('tx_') if 'coll' in name else name.removesuffix('_count')}_per_s": rate for name, rate in NET.items()},
    "disk_utilization": {
        **{f"{name.removesuffix('_count')}_per_s": rate for name, rate in DISK.items()}, "util_ratio": 0.3,
    },
    "disk_summary": {
        "read_per_s": 20, "write_per_s": 40, "read_bytes_per_s": 100, "write_bytes_per_s": 120, "busy_ratio": 0.3, "busy_max_ratio": 0.3,
    },
    "net_summary": {"rx_packet_per_s": 20, "tx_packet_per_s": 40, "rx_bytes_per_s": 60, "tx_bytes_per_s": 80},
    "cpu_summary": {"busy_ratio": 0.5, "busy_max_ratio": 0.5, "steal_ratio": 0.1, "steal_max_ratio": 0.1},
    "vm_summary": {
        "context_switch_per_s": 280, "context_switch_max_per_s": 280, "interrupt_per_s": 260, "interrupt_max_per_s": 260,
        "scan_direct_pages_per_s": 160, "scan_direct_max_pages_per_s": 160, "swap_bytes_per_s": 60 * 4096, "swap_max_bytes_per_s": 60 * 4096,
    },
    "tcp_summary": {
        "active_open_per_s": 20, "passive_open_per_s": 40, "in_segment_per_s": 60, "out_segment_per_s": 80, "retransmit_per_s": 140,
        "retransmit_max_ratio": 1.75,
    },
    "process_summary": {"cpu_ratio": 0.3, "cpu_max_ratio": 0.3},
    "work_compute": {"cpu_ratio": 0.3},
    "tcp_activity": {
        "active_open_per_s": 20, "passive_open_per_s": 40, "in_segment_per_s": 60, "out_segment_per_s": 80,
        "attempt_fail_per_s": 100, "established_reset_per_s": 120, "retransmit_per_s": 140, "in_error_per_s": 160,
        "out_reset_per_s": 180, "timeout_per_s": 200, "listen_overflow_per_s": 220, "listen_drop_per_s": 240,
    },
    "process_activity": {
        "minor_fault_per_s": 20, "major_fault_per_s": 40, "read_bytes_per_s": 60, "write_bytes_per_s": 80,
        "cancelled_write_bytes_per_s": 100, "voluntary_switch_per_s": 120, "involuntary_switch_per_s": 140,
        "user_ratio": 0.2, "system_ratio": 0.1, "run_queue_ratio": 0.05,
    },
    "cgroup_activity": {
        "read_bytes_per_s": 160, "write_bytes_per_s": 180, "cpu_ratio": 0.3, "throttled_ratio": 0.15, "cpu_pressure_ratio": 0.1,
        "memory_pressure_ratio": 0.2, "io_pressure_ratio": 0.25,
    },
    "pressure": {"some_ratio": 0.3, "full_ratio": 0.2},
    "softnet_activity": {"processed_per_s": 160, "drop_per_s": 20, "squeeze_per_s": 40},
    "memory_growth": {
        "resident_bytes_per_h": 4000 * 3600, "anon_bytes_per_h": 3000 * 3600, "pss_bytes_per_h": 2000 * 3600,
    },
    "software_events": {"count_per_s": 100},
    "software_event_summary": {"count_per_s": 100},
    "cpu_frequency": {"effective_ghz": 1.5, "run_ratio": 0.5},
    "cpu_frequency_summary": {"effective_ghz": 1.5, "run_ratio": 0.5},
    "context_switches": {"switch_per_s": 100},
    "ready_time": {"ready_ratio": 0.2, "on_cpu_ratio": 0.3, "steal_ratio": 0.1},
    "ready_time_by_cgroup": {"ready_ratio": 0.2, "on_cpu_ratio": 0.3, "steal_ratio": 0.1},
    "block_latency_over_time": {"busy_ratio": 0.4, "in_flight_avg_count": 0.4},
    "irq_time": {"duration_ratio": 0.1},
    # This is of processes of the recorder, not of sources: as long as the capture.
    "recorder_overhead": {"cpu_ratio": 0.02},
    "data_quality": {"coverage_ratio": 0.5},
}  # fmt: skip
NO_RATES = {
    ("cpu_frequency", "base_ghz"): "what the CPU is sold with",
    ("cpu_frequency_summary", "base_ghz"): "what the CPU is sold with",
    ("net_summary", "util_ratio"): "of a speed that is not known here",
    ("net_summary", "util_max_ratio"): "of a speed that is not known here",
    ("net_utilization", "speed_bits_per_s"): "what the link could do",
    ("socket", "delivery_rate_bytes_per_s"): "the kernel's own estimate",
    ("cgroup_activity", "cpu_limit_ratio"): "what it may have",
    ("pressure", "some_avg10_ratio"): "the kernel's own",
    ("pressure", "full_avg10_ratio"): "the kernel's own",
    ("numa_placement", "on_cpu_ratio"): "of time that ran, not of time that passed",
    ("pmc_event", "running_ratio"): "perf's own",
    ("software_events", "running_ratio"): "perf's own",
    ("software_event_summary", "running_ratio"): "perf's own",
    ("small_hot_functions", "top_caller_ratio"): "of samples",
    ("small_hot_functions", "top_path_ratio"): "of samples",
}

RECORDED_S = {
    "about": None, "block": 2.7, "interrupts": 2.9, "locks": 2.5, "memory": 2.85, "network": 2.9, "off_cpu": 2.9, "overview": 2.85,
    "pmc": 3.0, "profiles": 2.6, "scheduler": 2.9, "syscalls": 2.5,
    # Views of other sources than their group.
    "allocation_by_stack": 2.4,  # samples and system calls: while both were on
    "blame_by_comm": 2.5,  # requests and questions are those of the system calls
    "connection": 2.5,  # system calls tell who ended a connection
    "disk_summary": 2.85,  # of /proc/diskstats
    "working_set": 2.5,
}  # fmt: skip
"""What a diff and a history divide the amounts of a group's views by, or of one view; None: by the capture."""


def counted(rates: dict[str, float], at_s: float) -> dict[str, int]:
    return {name: round(rate * at_s) for name, rate in rates.items()}


def named(rates: dict[str, float]) -> list[dict[str, object]]:
    return [
        {"ts_ns": ns(at), "snapshot": n, "source_id": 0, "name": name, "value": round(rate * at)}
        for n, at in enumerate(SNAPSHOTS_S)
        for name, rate in rates.items()
    ]


def ns(seconds: float) -> int:
    return round(seconds * S)


def every(span: tuple[float, float], step_ms: int = 10) -> Iterator[int]:
    """The moments of what happens each 10 ms while a source is on."""
    yield from range(ns(span[0]), ns(span[1]), step_ms * MS)


def at_snapshots(rates: dict[str, float], **fixed: object) -> list[dict[str, object]]:
    return [
        {"ts_ns": ns(at), "snapshot": n, "source_id": 0, **fixed, **counted(rates, at)}
        for n, at in enumerate(SNAPSHOTS_S)
    ]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    sources = [
        {"source_id": 0, "name": "proc", "kind": "proc_snapshots", "first_ts_ns": ns(0.25), "last_ts_ns": ns(1.75)},
        {"source_id": 1, "name": "pmc", "kind": "perf_stat"},
        *(
            {"source_id": n, "name": name, "kind": "perf_data" if name == "sample" else name, "since_ts_ns": ns(since),
             "until_ts_ns": ns(until), "is_timeline": name == "thread_state", "is_syscall_source": name == "syscall",
             "is_block_source": name == "block_io"}
            for n, (name, (since, until)) in enumerate(SPANS_S.items(), 2)
        ),
    ]  # fmt: skip
    times = list(every(SPANS_S["thread_state"]))
    rows: dict[str, list[dict[str, object]]] = {
        "capture": [{
            "capture_id": "c", "duration_ns": ns(DURATION_S), "cpu_count": 1, "page_size_bytes": 4096, "memory_bytes": 1 << 30,
            "cpu_model": "A CPU @ 2.00GHz",
        }],
        "source": [{"status": "available", "event_count": 1, "lost_count": 0, **source} for source in sources],
        "process": [{"upid": 1, "pid": 10, "name": "server"}],
        "thread": [{"utid": 0, "tid": 0}, {"utid": 1, "tid": 10, "pid": 10, "upid": 1, "comm": "server"}],
        "proc_vmstat": named(VMSTAT),
        "proc_system": at_snapshots(SYSTEM),
        "proc_cpu": at_snapshots({name: ms * MS for name, ms in CPU.items()}, cpu=0),
        "proc_net_dev": at_snapshots(NET, interface="eth0"),
        "proc_softnet": at_snapshots({"processed_count": 160, "drop_count": 20, "squeeze_count": 40}, cpu=0),
        "proc_disk": at_snapshots({**DISK, "io_ns": 300 * MS}, device="sda", major=8, minor=0),
        "proc_net_counter": [{**row, "protocol": "TcpExt" if row["name"] in list(TCP)[9:] else "Tcp"} for row in named(TCP)],
        "proc_process": at_snapshots({**PROCESS, **GROWTH}, upid=1, pid=10, comm="server", thread_count=1),
        "proc_thread": at_snapshots(THREAD, utid=1, tid=10, pid=10, comm="server"),
        "proc_cgroup_stat": [{**row, "cgroup": "/a"} for row in named(CGROUP)],
        "proc_pressure": [
            *at_snapshots({"total_ns": 300 * MS}, resource="cpu", kind="some"),
            *at_snapshots({"total_ns": 200 * MS}, resource="cpu", kind="full"),
        ],
        "pmc_interval": [
            {"ts_ns": ns(end), "interval_ns": ns(end) - ns(start), "source_id": 1, "cpu": 0, "event": event,
             "count": rate * (end - start), "status": "counted", "running_ratio": 1.0}
            for start, end in pairwise(COUNTERS_S)
            for event, rate in (("cycles", 0.75e9), ("ref-cycles", 1e9), ("context-switches", 100))
        ],
        "sched_switch": [
            {"ts_ns": at, "cpu": 0, "utid": 1, "source_id": 2, "prev_pid": 10, "prev_comm": "server", "prev_state": 1}
            for at in times
        ],
        # The thread waits for the CPU for 2 of each 10 ms and runs for 3.
        "thread_state": [
            {"ts_ns": at + after * MS, "duration_ns": length * MS, "utid": utid, "state": state, "cpu": cpu, "is_open": False}
            for at in times
            for after, length, utid, state, cpu in (
                (0, 2, 1, "runnable", None), (2, 3, 1, "running", 0), (5, 5, 1, "sleeping", None), (5, 5, 0, "idle", 0),
            )
        ],
        "irq_handler_entry": [{"ts_ns": at, "cpu": 0, "source_id": 2, "irq": 7, "name": "disk"} for at in times],
        "irq_handler_exit": [{"ts_ns": at + MS, "cpu": 0, "source_id": 2, "irq": 7, "ret": 1} for at in times],
        "block_io": [
            {"ts_ns": at, "issued_ts_ns": at, "completed_ts_ns": at + 4 * MS, "latency_ns": 4 * MS, "device": "8,0",
             "operation": "read", "size_bytes": 4096, "requeue_count": 0}
            for at in every(SPANS_S["block_io"])
        ],
        "recorder_process": [
            {"process": "perf record", "pid": 1, "phase": "recording", "user_ns": 40 * MS, "system_ns": 20 * MS}
        ],
    }  # fmt: skip
    with query.connect(make_case(tmp_path_factory.mktemp("rates") / "x.case", rows)) as opened:
        yield opened


def rates() -> set[tuple[str, str]]:
    """The columns that are amounts by time: by their units, and the shares of time by what they say."""
    share = re.compile(r"interval|CPU\b|\btime\b|share of the capture")
    return {
        (view.name, column.name)
        for view in load_views().values()
        for column in view.columns
        if re.search(r"/[sh]$|GHz", column.unit or "") or (column.unit == "ratio" and share.search(column.description))
    }


def test_every_rate_is_known_here() -> None:
    known = {(view, column) for view, columns in EXPECTED.items() for column in columns} | NO_RATES.keys()
    assert sorted(rates() - known) == [], "rates without a truth in this file"
    other = [
        ("block_latency_over_time", "in_flight_avg_count"),
        ("cpu_summary", "busy_ratio"),
        ("cpu_summary", "steal_ratio"),
    ]
    assert sorted(known - rates()) == other, "no rates, or none any more"


@pytest.mark.parametrize(
    ("view", "column"), [(view, column) for view, columns in EXPECTED.items() for column in columns]
)
def test_a_rate_is_the_same_in_every_interval(view: str, column: str, connection: duckdb.DuckDBPyConnection) -> None:
    of_event = "event = 'context-switches'"
    where = {"software_events": of_event, "software_event_summary": of_event, "data_quality": "source = 'proc'"}.get(
        view, "true"
    )
    found = [value for (value,) in connection.execute(f"SELECT {column} FROM {view} WHERE {where}").fetchall()]
    assert found
    assert found == pytest.approx([EXPECTED[view][column]] * len(found), rel=1e-9)


@pytest.mark.parametrize("view", ["context_switches", "ready_time", "run_queue_length", "unclaimed_cpu"])
def test_intervals_are_what_was_recorded(view: str, connection: duckdb.DuckDBPyConnection) -> None:
    found = connection.execute(f"SELECT DISTINCT ts_ns, interval_ns FROM {view} ORDER BY 1").fetchall()
    assert found == [(ns(0.4), ns(0.6)), (S, S), (2 * S, S), (3 * S, ns(0.3))]


def test_what_a_counter_says_of_an_interval_is_of_the_part_that_was_recorded(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """A tenth is stolen; the last reading was at 3.1 s."""
    found = [stolen for (stolen,) in connection.execute("SELECT steal_ns FROM ready_time ORDER BY ts_ns").fetchall()]
    assert found == [ns(0.06), ns(0.1), ns(0.1), ns(0.01)]


def test_intervals_of_requests_are_what_was_recorded(connection: duckdb.DuckDBPyConnection) -> None:
    found = connection.execute("SELECT ts_ns, interval_ns FROM block_latency_over_time").fetchall()
    assert found == [(ns(0.45), ns(0.55)), (S, S), (2 * S, S), (3 * S, ns(0.15))]


def test_each_view_with_amounts_is_divided_by_its_own_time(connection: duckdb.DuckDBPyConnection) -> None:
    views = {
        name: view
        for name, view in load_views().items()
        if view.diff and any(m.kind == "sum" for m in view.diff.measures)
    }
    found = {name: collect(connection, view).recorded_ns for name, view in views.items()}
    wanted = {name: RECORDED_S.get(name, RECORDED_S[view.group]) for name, view in views.items()}
    assert found == {name: seconds and ns(seconds) for name, seconds in wanted.items()}


def test_page_cache_of_events_is_divided_by_their_time(tmp_path: Path) -> None:
    source = {"source_id": 0, "name": "ftrace", "kind": "ftrace_raw", "is_timeline": True}
    rows: dict[str, list[dict[str, object]]] = {
        "capture": [{"capture_id": "c", "duration_ns": ns(DURATION_S)}],
        "source": [{**source, "since_ts_ns": ns(0.4), "until_ts_ns": ns(3.3)}],
        "mm_filemap_add_to_page_cache": [
            {"ts_ns": at, "cpu": 0, "utid": 1, "source_id": 0} for at in every(SPANS_S["thread_state"])
        ],
    }
    with query.connect(make_case(tmp_path / "x.case", rows)) as connection:
        found = connection.execute(
            "SELECT method, ts_ns, interval_ns, miss_count FROM page_cache ORDER BY ts_ns"
        ).fetchall()
        assert collect(connection, load_views()["page_cache"]).recorded_ns == ns(2.9)
    assert found == [
        ("filemap", ns(0.4), ns(0.6), 60), ("filemap", S, S, 100), ("filemap", 2 * S, S, 100), ("filemap", 3 * S, ns(0.3), 30),
    ]  # fmt: skip

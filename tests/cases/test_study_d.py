"""D, "a tale of ten bugs": type checks in reference counts, a logical leak, Nagle's algorithm, a bad disk, a starving probe."""

from __future__ import annotations

from tests.cases.conftest import QueryRows

SERVER, SESSIONS, DISK = "d-type-checks/server.perfcase", "d-leak/sessions.perfcase", "d-slow-disk/reader.perfcase"
PIPE, TCP = "d-nagle/pipe.perfcase", "d-nagle/tcp.perfcase"
ALONE, PROBED = "d-probe-load/alone.perfcase", "d-probe-load/probed.perfcase"


def test_the_type_check_is_the_small_hot_function(rows: QueryRows) -> None:
    (finding,) = rows("sql", SERVER, "FROM finding")
    assert (finding["finding"], finding["subject"]) == ("small_hot_function", "same_type")
    first = rows("view", "small_hot_functions", SERVER)[0]
    assert first["symbol"] == "same_type"
    assert float(first["self_ratio"]) > 0.4
    # Which no place of the call tree shows.
    assert float(first["top_path_event_ratio"]) < 0.12
    callers = rows("view", "callers", SERVER, "--where", "symbol = 'same_type' AND depth = 1")
    assert {row["caller"] for row in callers[:2]} == {"Object::IncRef", "Object::DecRef"}
    assert sum(float(row["weight_ratio"]) for row in callers[:2]) > 0.9


def test_the_leak_is_a_line_and_has_a_place(rows: QueryRows) -> None:
    (finding,) = rows("sql", SESSIONS, "FROM finding")
    assert finding["finding"] == "memory_growth_steady"
    assert finding["subject"].startswith("session-server")
    growth = {row["comm"]: row for row in rows("view", "memory_growth", SESSIONS)}
    assert float(growth["session-server"]["anon_fit_ratio"]) > 0.98
    assert int(growth["price-cache"]["anon_first_bytes"]) == int(growth["price-cache"]["anon_last_bytes"])
    stacks = rows(
        "view", "allocation_by_stack", SESSIONS,
        "--where", "process = 'session-server' AND kind LIKE 'exceptions:page_fault_user%'",
    )  # fmt: skip
    assert "main;remember_session;new_buffer" in stacks[0]["stack"]
    assert float(stacks[0]["grown_ratio"]) > 0.8


def test_nagle_is_named_where_the_pipe_became_tcp(rows: QueryRows) -> None:
    assert rows("sql", PIPE, "FROM finding") == []
    first = rows("sql", TCP, "FROM finding")[0]
    assert (first["finding"], first["severity"]) == ("delayed_ack", "critical")
    assert first["subject"].startswith("order-client")
    lines = rows("diff", PIPE, TCP)[:3]
    assert {"order-client", "order-server"} == {line["key"].removeprefix("comm ").split(",")[0] for line in lines}
    assert all("name read" in line["key"] or "cause network" in line["key"] for line in lines)


def test_a_lost_command_shows_beside_what_the_disk_said(rows: QueryRows) -> None:
    findings = {row["finding"]: row for row in rows("sql", DISK, "FROM finding")}
    assert (findings["disk_peaks"]["severity"], findings["disk_peaks"]["subject"]) == ("critical", "sda")
    seconds = rows("view", "block_latency_over_time", DISK, "--where", "device_name = 'sda' AND request_count > 0")
    lost = [row for row in seconds if int(row["requeue_count"]) > 0]
    assert 3 <= len(lost) < len(seconds)
    assert all(int(row["request_max_ns"]) > 1e9 for row in lost)
    assert all(int(row["request_max_ns"]) < 1e9 for row in seconds if row not in lost)
    assert all(float(row["latency_p50_ns"]) < 4e6 for row in seconds)
    said = [row["text"] for row in rows("view", "kernel_log", DISK, "--where", "is_in_capture AND level = 'err'")]
    assert said
    assert all(text.startswith("critical medium error, dev sda") for text in said)


def test_the_probe_is_named_and_the_database_waits_for_cpus(rows: QueryRows) -> None:
    assert rows("sql", ALONE, "FROM finding") == []
    first = rows("sql", PROBED, "FROM finding")[0]
    assert (first["finding"], first["severity"]) == ("cpu_saturation", "critical")
    assert "probe-agent" in first["message"]
    assert "comm probe-agent" in rows("diff", ALONE, PROBED)[0]["key"]
    ready = "SELECT sum(ready_ns) / sum(interval_ns) AS ready_ratio, sum(on_cpu_ns) AS on_cpu_ns FROM ready_time WHERE process = 'database'"
    (alone,), (probed,) = (rows("sql", capture, ready) for capture in (ALONE, PROBED))
    # The publication: 12.5 % became 20 %.
    assert float(alone["ready_ratio"]) < 0.15
    assert float(probed["ready_ratio"]) > 1.6 * float(alone["ready_ratio"])
    # It did the same work.
    assert abs(int(probed["on_cpu_ns"]) / int(alone["on_cpu_ns"]) - 1) < 0.05

"""perfcase diff --per EVENT: amounts by how often an event happened on each side, on recordings.

The programs do the same work for each request, which tells by hand what a request has: tests/data/diff/inject.c writes and
pauses twice (`pwrite64`), sample-captures/d-nagle/nagle.c asks 60 times.
"""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import fail, succeed

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("per")
    for name in ("base", "lock"):
        (folder / name).write_bytes(
            lzma.decompress((ROOT / "tests" / "data" / "diff" / f"{name}.data.xz").read_bytes())
        )
    for path in ("d-nagle/tcp", "d-nagle/pipe", "aarch64-counters/x"):
        shutil.copy(ROOT / "sample-captures" / f"{path}.perfcase", folder / path.split("/")[1])
    return folder


def lines(*arguments: object) -> tuple[dict[str, Any], dict[tuple[str, ...], dict[str, Any]]]:
    """The whole answer, and its lines by key and measure."""
    told = json.loads(succeed("diff", *arguments, "--format", "json", "--limit", 0))
    return told, {(*line["key_values"], line["measure"]): line for line in told["differences"]}


def test_calls_per_write(captures: Path) -> None:
    """510 and 708 writes, and twice as many pauses: more of both in a second (of 1.03 s and 1.01 s), but not in a request."""
    base, lock = captures / "base", captures / "lock"
    told, found = lines(base, lock, "--view", "syscall_summary", "--per", "pwrite64")
    assert told["per"] == {"event": "pwrite64", "a": 510, "b": 708}
    assert not {("inject", "clock_nanosleep", "call_count"), ("inject", "pwrite64", "call_count")} & found.keys()
    writes = found["inject", "pwrite64", "duration_total_ns"]
    assert (writes["a"], writes["b"], writes["per"], writes["unit"]) == (1_923_137, 3_041_128, "pwrite64", "ns")
    assert (writes["a_per"], writes["b_per"]) == pytest.approx((1_923_137 / 510, 3_041_128 / 708))
    assert writes["ratio"] == pytest.approx((3_041_128 / 708) / (1_923_137 / 510))
    # Three are pthread_join's; the mutex takes more than one in a request.
    locks = found["inject", "futex", "call_count"]
    assert (locks["a_per"], locks["b_per"]) == pytest.approx((3 / 510, 792 / 708))
    # What is no amount is not divided.
    assert found["inject", "clock_nanosleep", "duration_avg_ns"]["per"] is None
    _, by_second = lines(base, lock, "--view", "syscall_summary")
    assert by_second["inject", "clock_nanosleep", "call_count"]["ratio"] == pytest.approx(
        (1416 / 1.008977064) / (1020 / 1.029064098)
    )


def test_waiting_per_request(captures: Path) -> None:
    """60 requests of three writes: the same on both sides. Over TCP each waits 40 ms and a little: that leads."""
    told, found = lines(captures / "pipe", captures / "tcp", "--per", "clock_nanosleep")
    assert told["per"] == {"event": "clock_nanosleep", "a": 60, "b": 60}
    stalls = told["differences"][0]
    assert (stalls["view"], stalls["measure"], stalls["per"], stalls["a"]) == (
        "tcp_stalls", "gap_ns", "clock_nanosleep", None,
    )  # fmt: skip
    assert stalls["b_per"] == stalls["b"] / 60
    assert 40e6 < stalls["b_per"] < 50e6
    _, found = lines(captures / "pipe", captures / "tcp", "--per", "clock_nanosleep", "--view", "syscall_summary")
    assert not [key for key in found if key[1:] == ("write", "call_count")]
    # As steady from request to request as they are: requests come in a part of the capture only, which is no noise.
    assert found["order-client", "read", "duration_total_ns"]["sigmas"] > 50


def test_switches_per_switch(captures: Path) -> None:
    """A tracepoint: of all switches, those that each process made."""
    told, found = lines(
        captures / "pipe", captures / "tcp", "--per", "sched:sched_switch", "--view", "context_switches"
    )
    # Two sources recorded it; the shorter one is no further switches.
    assert told["per"] == {"event": "sched:sched_switch", "a": 311, "b": 377}
    client = found["order-client", "involuntary_count"]
    # One more, in the first, is of what became the client: it had another name then.
    assert (client["a"], client["b"], client["per"]) == (36, 4, "sched:sched_switch")
    assert (client["a_per"], client["b_per"]) == (36 / 311, 4 / 377)


def test_counts_per_instruction(captures: Path) -> None:
    """A counter of the hardware, in two parts of one capture: its intervals are added."""
    parts = ("--a", "0s..5s", "--b", "5s..")
    told, found = lines(captures / "x", *parts, "--per", "instructions", "--view", "context_switches")
    counted = json.loads(succeed(
        "sql", captures / "x", "--format", "json",
        "SELECT sum(count) AS n FROM pmc_interval WHERE event = 'instructions'"
        " GROUP BY ts_ns + interval_ns // 2 >= 5000000000 ORDER BY n DESC",
    ))  # fmt: skip
    assert [told["per"]["a"], told["per"]["b"]] == [each["n"] for each in counted]
    assert all(line["a_per"] == (line["a"] or 0) / counted[0]["n"] for line in found.values() if line["a"] is not None)
    assert found


def test_an_event_that_one_side_or_neither_has(captures: Path) -> None:
    base, lock, pipe, tcp = (captures / name for name in ("base", "lock", "pipe", "tcp"))
    both = "system calls clock_nanosleep, pwrite64, rt_sigprocmask, mmap, clone3, …"
    assert fail(6, "diff", base, lock, "--per", "pwrite65") == (
        f"--per: neither has pwrite65 (both have tracepoints sys_enter, sys_exit; {both})"
    )
    assert fail(6, "diff", pipe, tcp, "--per", "tcp:tcp_probe").startswith(
        f"--per: only {tcp.name} has tcp:tcp_probe (both have tracepoints sys_enter, sys_exit, sched_switch, sched_wakeup, "
    )
    assert "only tcp has accept (both have" in fail(6, "diff", tcp, pipe, "--per", "accept")

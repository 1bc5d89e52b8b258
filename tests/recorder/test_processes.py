"""What a scoped recording takes of processes: everything of those that were asked for, nothing of others."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.recorder.support import RECORDER, Capture, parse_snapshots, run

SECRET = "password-of-another-process"
# Threads that have a name each and end within a snapshot's interval.
BLINK = """
import threading, pathlib, time, socket
def blink(number):
    pathlib.Path("/proc/thread-self/comm").write_text("blink%d" % number)
    sum(range(200000))
for number in range(20):
    thread = threading.Thread(target=blink, args=(number,))
    thread.start()
    thread.join()
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(3)
time.sleep(4)  # several snapshots, also on a busy machine
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    folder = tmp_path_factory.mktemp("processes")
    bystander = subprocess.Popen(
        [sys.executable, "-c", "import socket, time; s = socket.socket(); s.listen(); time.sleep(120)", SECRET],
        env={"PERFCASE_TEST_ENVIRONMENT": SECRET},
    )
    try:
        done = run("dash", "-q", "-o", folder / "x.perfcase", "--", sys.executable, "-c", BLINK)
    finally:
        bystander.kill()
        bystander.wait()
    assert done.returncode == 0, done.stderr
    return Capture.read(folder / "x.perfcase")


def test_nothing_of_another_process_is_taken(recorded: Capture) -> None:
    for path in recorded.paths():
        assert SECRET.encode() not in recorded.content(path), path
    snapshots = parse_snapshots(recorded.content("process/snapshots"))
    paths = {path for snapshot in snapshots for path in snapshot.files}
    assert not [path for path in paths if path.endswith("environ")]
    pids = {int(match[1]) for path in paths if (match := re.match(r"/proc/(\d+)/", path))}
    assert len(pids) == 1, "the command has no children"
    sockets = [text for s in snapshots for path, text in s.files.items() if path.startswith("/perfcase/netns/")]
    assert {line.count(b"state=LISTEN") for text in sockets for line in text.splitlines()} <= {1}
    assert max(len(text.splitlines()) for text in sockets) == 1, "the command's one socket"


def test_the_kernels_log_is_its_own(recorded: Capture) -> None:
    if "host/kmsg" not in recorded.paths():
        pytest.skip("/dev/kmsg cannot be read here")
    heads = re.findall(rb"^(\d+),\d+,", recorded.content("host/kmsg"), re.M)
    assert {int(priority) >> 3 for priority in heads} == {0}


def test_what_is_slow_to_read_is_read_rarely(recorded: Capture) -> None:
    slow = parse_snapshots(recorded.content("process/snapshots"))
    names = {path.split("/", 3)[3] for s in slow for path in s.files if path.startswith("/proc/")}
    assert names == {"cmdline", "cgroup", "limits", "smaps_rollup", "fd", "ns/net"}
    fast = parse_snapshots(recorded.content("proc/snapshots"))
    names = {path.split("/", 5)[5] for s in fast for path in s.files if "/task/" in path}
    assert {"stat", "status", "schedstat", "io"} <= names
    assert not {"smaps_rollup", "cmdline", "fd"} & names


def test_threads_between_two_snapshots_have_names(recorded: Capture, tmp_path: Path) -> None:
    case = store.open_case(recorded.path, tmp_path / "x.case")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        named = {row[0] for row in connection.execute("SELECT comm FROM thread_name").fetchall()}
        seen = {row[0] for row in connection.execute("SELECT DISTINCT comm FROM proc_thread").fetchall()}
    wanted = {f"blink{number}" for number in range(20)}
    assert wanted <= named
    assert not wanted <= seen, "no snapshot saw them all: the names are those of the events"


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="a kernel without CONFIG_NUMA")
def test_memory_by_node_where_it_is_asked_for(tmp_path: Path) -> None:
    done = run("dash", "-q", "--numa-maps", "-o", tmp_path / "x.perfcase", "--", "sleep", "1.3")
    assert done.returncode == 0, done.stderr
    case = store.open_case(tmp_path / "x.perfcase", tmp_path / "x.case")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT n.resident_bytes, p.mapped_resident_bytes FROM (SELECT source_id, snapshot, upid, sum(resident_bytes) AS"
            " resident_bytes FROM proc_numa GROUP BY ALL) AS n JOIN proc_process AS p USING (source_id, snapshot, upid)"
        ).fetchall()
    assert len(rows) >= 2
    # smaps_rollup counts the zero page and special mappings, which are on no node.
    assert all(0.8 * resident <= on_nodes <= resident for on_nodes, resident in rows), rows


def test_the_second_sampler_stays_below_one_percent(tmp_path: Path) -> None:
    """However short the interval: after the second snapshot it rests a hundred times the CPU time that each cost it."""
    out = tmp_path / "snapshots"
    helper = RECORDER.parent / "build" / "perfcase-helper"
    children = [subprocess.Popen(["sleep", "60"]) for _ in range(60)]
    sampler = subprocess.Popen([helper, "details", out, "10000000", ",".join(str(child.pid) for child in children)])

    def written() -> int:
        return out.read_bytes().count(b"\nZ ") if out.exists() else 0

    used_ns: dict[int, int] = {}
    measured: list[int] = []
    while not measured or written() < measured[0] + 2:
        before = written()
        now_ns = int(Path(f"/proc/{sampler.pid}/schedstat").read_text().split()[0])
        state = Path(f"/proc/{sampler.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "S" and written() == before:  # it rests: what it used is what so many snapshots cost
            used_ns[before] = now_ns
        measured = [n for n in used_ns if n >= 2 and n + 1 in used_ns]
        time.sleep(0.002)
    for process in (sampler, *children):
        process.terminate()
        process.wait()
    snapshots = parse_snapshots(out.read_bytes())
    number = measured[0]
    cost_ns = used_ns[number + 1] - used_ns[number]
    rest_ns = snapshots[number + 1].monotonic_ns - snapshots[number].monotonic_ns
    assert cost_ns > 0
    # To fall asleep and to wake up is in our figure and not in its own: 90, not 100.
    assert rest_ns >= 90 * cost_ns, f"snapshot {number} cost {cost_ns} ns, the next came after {rest_ns} ns"

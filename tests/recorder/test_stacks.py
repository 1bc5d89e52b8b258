"""--stacks: which waits have callchains, of a program that waits for known reasons at known places."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, store
from tests.recorder.support import TRACEFS, Capture, command, control_group, environment, run

# A byte to and fro between two processes on one CPU; each 20,000th time 20 ms of sleep at a place of its own; then the other waits
# as long, at the place where it otherwise has its byte at once.
PROGRAM = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static const struct timespec late = { 0, 20000000 };
static void rare_wait(void) { nanosleep(&late, 0); }
static int usual_wait(int from) { char byte; return read(from, &byte, 1); }
int main(int argc, char **argv)
{
	long count = atol(argv[1]);
	int there[2], back[2];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (argc != 2 || sched_setaffinity(0, sizeof one, &one) || pipe(there) || pipe(back))
		return 1;
	if (!fork()) {
		close(there[1]);
		for (long i = 1; usual_wait(there[0]) == 1; i++) {
			if (i % 20000 == 10000)
				rare_wait();
			if (write(back[1], "", 1) != 1)
				return 1;
		}
		return 0;
	}
	for (long i = 1; i <= count; i++) {
		if (i % 20000 == 0)
			rare_wait();
		if (write(there[1], "", 1) != 1 || usual_wait(back[0]) != 1)
			return 1;
	}
	close(there[1]);
	wait(0);
	return 0;
}
"""
COUNT = 60_000
LONG_NS = 15_000_000
ENDS = 8
"""Switches of two processes that begin and end: perf does not see the last of each, nor what ends with the recording."""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or TRACEFS is None, reason="the kernel's tracing is root's, and is not in every container"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "wait.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", folder / "waiter", folder / "wait.c"], check=True)
    return folder / "waiter"


def recorded(folder: Path, *options: str | Path, **changes: str) -> tuple[Capture, duckdb.DuckDBPyConnection]:
    output = folder / "x.perfcase"
    done = run("dash", "-o", output, *options, **changes)
    assert done.returncode == 0, done.stderr
    return Capture.read(output), query.connect(store.open_case(output).folder)


def waits(connection: duckdb.DuckDBPyConnection, least_ns: int) -> list[tuple[str | None, int, bool]]:
    """The program's sleeps of this length: where in the program, how often, whether the waker's callchain is there."""
    return connection.execute(
        """SELECT regexp_extract(folded, 'clock_nanosleep|read') AS place,
            count(*), bool_and(waker_stack_id IS NOT NULL)
        FROM thread_state AS s JOIN thread_name AS n USING (name_id) LEFT JOIN stack_folded USING (stack_id)
        WHERE n.comm = 'waiter' AND s.state = 'sleeping' AND duration_ns >= ? AND NOT is_open GROUP BY 1 ORDER BY 1""",
        [least_ns],
    ).fetchall()


def switches(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """How often the program left a CPU, and how often with a callchain."""
    return connection.execute(
        """SELECT count(*), count(stack_id) FROM thread_state JOIN thread_name USING (name_id)
        WHERE comm = 'waiter' AND state = 'running'"""
    ).fetchone()


def test_long_waits_have_callchains_and_short_ones_some(program: Path, tmp_path: Path) -> None:
    capture, connection = recorded(tmp_path, "--", program, str(COUNT))
    sources = {source["name"]: source for source in capture.manifest["sources"]}
    assert sources["stacks"]["status"] == "available"
    assert sources["stacks"]["lost_events"] == 0
    places = {place: count for place, count, _ in waits(connection, LONG_NS)}
    # Three sleeps of each process; and each waits for the other's in the read that otherwise has its byte at once.
    assert places == {"clock_nanosleep": 6, "read": 6}
    count, with_stack = switches(connection)
    assert count >= COUNT
    # 200 a second of each of a few places in two processes, and the long ones: on a busy machine many are.
    seconds = connection.execute("SELECT max(ts_ns + duration_ns) / 1e9 FROM thread_state").fetchone()[0]
    assert 100 < with_stack < 2 * (3 * 200 + 1000) * (seconds + 1)
    names = {
        name
        for (name,) in connection.execute(
            "SELECT DISTINCT comm FROM thread_name JOIN sample USING (name_id)"
        ).fetchall()
    }
    assert names <= {"waiter", "perfcase-helper", "perfcase-hold"}, "only what was asked for"


def test_the_whole_host_has_long_waits_and_a_budget_for_each_cpu(program: Path, tmp_path: Path) -> None:
    """There it is done by other means than in a scope. Forty pairs of processes, each with a budget of its own, share that of a CPU."""
    output = tmp_path / "x.perfcase"
    with subprocess.Popen(
        command("dash", "-o", output), env=environment(), stderr=subprocess.PIPE, text=True
    ) as recorder:
        while "recording: " not in (line := recorder.stderr.readline()):
            assert line, "it ended"
        subprocess.run([program, str(COUNT)], check=True)
        subprocess.run(["sh", "-c", 'for i in $(seq 40); do "$0" 2000 & done; wait', program], check=True)
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=60)
    assert recorder.returncode == 0, said
    connection = query.connect(store.open_case(output).folder)
    places = {place: count for place, count, _ in waits(connection, LONG_NS) if place}
    assert places["clock_nanosleep"] == 6
    assert places["read"] >= 6
    taken = connection.execute(
        """SELECT count(*) FROM sample JOIN perf_event USING (event_id) WHERE perf_event.name = 'switch-stacks'
        GROUP BY cpu, ts_ns // 1000000000"""
    ).fetchall()
    # 1,000 a second, and what was not used of half a second.
    assert 1000 <= max(count for (count,) in taken) <= 1510
    frames = connection.execute(
        """SELECT DISTINCT symbol FROM sample JOIN perf_event AS e USING (event_id) JOIN stack USING (stack_id)
            JOIN frame ON frame.frame_id = frame_ids[1]
        WHERE e.name LIKE '%-stacks' AND symbol LIKE '%perfcase_%'"""
    ).fetchall()
    assert frames == [], "no callchain begins with the program that takes it"


def test_a_control_group_has_its_waits_and_nobody_elses(program: Path, tmp_path: Path) -> None:
    script = 'until [ -e "$0" ]; do sleep 0.05; done; "$1" "$2"; : >"$3"; exec sleep 100'
    inside = subprocess.Popen(["sh", "-c", script, tmp_path / "go", program, str(COUNT), tmp_path / "done"])
    outside = subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"])
    output = tmp_path / "x.perfcase"
    try:
        with control_group(f"perfcase-stacks-{os.getpid()}", inside) as group:
            words = command("dash", "-o", output, "--cgroup", group.name)
            with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True) as recorder:
                while "recording: " not in (line := recorder.stderr.readline()):
                    assert line, "it ended"
                (tmp_path / "go").touch()
                end = time.monotonic() + 60
                while not (tmp_path / "done").exists():
                    assert time.monotonic() < end
                    time.sleep(0.05)
                recorder.send_signal(signal.SIGINT)
                _, said = recorder.communicate(timeout=60)
            assert recorder.returncode == 0, said
    finally:
        outside.kill()
        outside.wait()
    connection = query.connect(store.open_case(output).folder)
    places = {place: count for place, count, _ in waits(connection, LONG_NS) if place}
    # A busy machine may keep one of them from its CPU for so long that the other waits too.
    assert places.keys() == {"clock_nanosleep", "read"}
    assert (places["clock_nanosleep"], places["read"] >= 6) == (6, True)
    with_stacks = "SELECT DISTINCT pid FROM sample JOIN thread USING (utid) WHERE stack_id IS NOT NULL"
    pids = {pid for (pid,) in connection.execute(with_stacks).fetchall()}
    assert inside.pid in pids
    assert outside.pid not in pids


def test_all_has_every_callchain_and_none_has_none(program: Path, tmp_path: Path) -> None:
    few = "4000"
    for mode in ("all", "none"):
        folder = tmp_path / mode
        folder.mkdir()
        capture, connection = recorded(folder, "--stacks", mode, "--", program, few)
        assert "stacks" not in {source["name"] for source in capture.manifest["sources"]}
        count, with_stack = switches(connection)
        assert count >= 4000
        assert with_stack >= count - ENDS if mode == "all" else with_stack == 0


TIMER = "function=perf_swevent_hrtimer"
"""What the kernel starts for the sampler of a thread when it puts its events on a CPU."""


def test_a_command_and_its_children_hand_their_events_over(program: Path, tmp_path: Path) -> None:
    """The kernel leaves the events of two threads on the CPU when one was started by the other with all of them. One event that a
    child does not have, and a switch costs four times as much."""
    # Where the CPU counts cycles, they would sample, and nothing tells when the kernel puts a counter on a CPU: perf has none here.
    perf = tmp_path / "tools" / "perf"
    perf.parent.mkdir()
    perf.write_text(f'#!/bin/sh\ncase "$*" in stat*cycles*) exit 1 ;; esac\nexec {shutil.which("perf")} "$@"\n')
    perf.chmod(0o755)
    instance = TRACEFS / "instances" / f"test-handover-{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text("16384")
        (instance / "events/timer/hrtimer_start/enable").write_text("1")
        capture, connection = recorded(tmp_path, "--", program, "4000", PATH=f"{perf.parent}:{os.environ['PATH']}")
        (instance / "tracing_on").write_text("0")
        # Only this program counts: other recordings of this machine have samplers too.
        lines = (instance / "trace").read_text(errors="replace").splitlines()
        starts = sum(TIMER in line and line.lstrip().startswith(f"{program.name}-") for line in lines)
    finally:
        instance.rmdir()
    assert {name: capture.source(name)["status"] for name in ("ftrace", "stacks")} == dict.fromkeys(
        ("ftrace", "stacks"), "available"
    )
    assert "cpu-clock" in " ".join(capture.source("perf")["command"])
    count, _ = switches(connection)
    assert count >= 8000
    # Where a thread waits for a byte that takes a while, the CPU idles: those switches are to another program.
    assert 0 < starts < count / 4


@pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")
@pytest.mark.parametrize("is_scoped", [True, False])
def test_the_programs_hide_no_event_from_the_perf_of_others(program: Path, is_scoped: bool, tmp_path: Path) -> None:
    """A program at a tracepoint that answers with 0 takes the event away from everyone who counts or records it."""
    names = ["sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup_new"]
    theirs = ["perf", "stat", "-x,", "-e", ",".join(names), "-o", tmp_path / "theirs", program, "3000"]
    if is_scoped:
        recorded(tmp_path, "--", *theirs)
    else:
        words = command("dash", "-o", tmp_path / "x.perfcase")
        with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True) as recorder:
            while "recording: " not in (line := recorder.stderr.readline()):
                assert line, "it ended"
            subprocess.run(theirs, check=True)
            recorder.send_signal(signal.SIGINT)
            recorder.communicate(timeout=60)
    assert Capture.read(tmp_path / "x.perfcase").source("stacks")["status"] == "available"
    lines = [line.split(",") for line in (tmp_path / "theirs").read_text().splitlines() if line.count(",") > 2]
    counts = {fields[2]: int(fields[0]) for fields in lines}
    assert list(counts) == names
    assert counts["sched:sched_switch"] > 3000
    assert counts["sched:sched_waking"] > 3000
    assert counts["sched:sched_wakeup_new"] > 0


def test_where_the_kernel_takes_no_programs_perf_takes_each_callchain(program: Path, tmp_path: Path) -> None:
    """Without the rights to load BPF programs, but with those of perf."""
    output = tmp_path / "x.perfcase"
    rights = ["setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin"]
    words = [*rights, *command("dash", "-o", output, "--", program, "4000")]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert (
        "without stacks: the kernel takes no BPF programs here: Operation not permitted: perf takes each callchain"
        in done.stderr
    )
    count, with_stack = switches(query.connect(store.open_case(output).folder))
    assert count >= 4000
    assert with_stack >= count - ENDS


def test_what_there_is_not_is_wrong_usage(tmp_path: Path) -> None:
    done = run("dash", "--stacks", "some", "-o", tmp_path / "x.perfcase", "--", "true")
    assert done.returncode == 2
    assert "--stacks some: there are long, all and none" in done.stderr

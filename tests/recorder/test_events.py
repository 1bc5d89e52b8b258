"""perfcase-helper opens perf events where perf is absent: the same as perf on the same command, in each scope, whatever happens."""

from __future__ import annotations

import difflib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfcase.case import query, store
from perfcase.case.span import recorded_ns
from tests.recorder.events import (
    COMM,
    EXIT,
    FORK,
    KERNEL,
    MMAP2,
    SAMPLE,
    SCHEDULER,
    arguments,
    attempt,
    held,
    let_go,
    recording,
    records,
    thread_names,
    wait_for,
)
from tests.recorder.support import SHELLS, TRACEFS, Capture, control_group, in_own_mounts, path_without, run

pytestmark = pytest.mark.skipif(TRACEFS is None or os.geteuid() != 0, reason="tracefs is not here, or not ours to use")

# 40 sleeps, one after the other; processes that come and go; some work.
WORK = """
import subprocess, time
for _ in range(40):
    time.sleep(0.005)
for _ in range(5):
    subprocess.run(["/bin/true"])
sum(i * i for i in range(2_000_000))
"""
THREADS = """
import sys, threading
count = int(sys.argv[1])
end = threading.Event()
for _ in range(count):
    threading.Thread(target=end.wait, args=(60,), daemon=True).start()
print("there", flush=True)
sys.stdin.read()
"""


def script(path: Path, *options: str) -> list[str]:
    """What perf script prints."""
    done = subprocess.run(
        ["perf", "script", "-i", path, *options], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()


def without_samples(lines: list[str]) -> list[str]:
    """Each event with its stack, but those of the timer, which come at two moments to two who ask. By thread; samples stand apart:
    a mapping goes to one and then to the other, and may be interrupted between. Columns are as wide as the longest name."""
    events: list[str] = []
    for line in filter(None, lines):
        text = re.sub(" +", " ", line.strip(" "))
        if line[0] == "\t":
            events[-1] += f"\n{text}"
        else:
            events.append(text)
    found = [event for event in events if "cpu-clock" not in event.split("\n")[0]]
    # Two who ask get two times: what two CPUs do at once may change places.
    return sorted(found, key=lambda event: (re.search(r" (\d+/\d+) ", event)[1], "PERF_RECORD_" in event))


@pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")
@pytest.mark.parametrize("stacks", ["fp", "dwarf,4096"])
def test_it_records_what_perf_records(stacks: str, tmp_path: Path) -> None:
    """The same processes, names, mappings with build ids, switches and wakeups, each with its stack and its functions."""
    theirs = tmp_path / "theirs.data"
    ctl, ack = os.pipe(), os.pipe()
    events = [word for event in SCHEDULER for word in ("-e", event)]
    options = ["-k", "CLOCK_MONOTONIC", "--buildid-mmap", "--sample-cpu", "--call-graph", stacks, "-m", "4096K"]
    with held(sys.executable, "-c", WORK) as target:
        perf = subprocess.Popen(
            [
                *("perf", "record", "-q", *options, "-e", "cpu-clock/freq=99/", *events),
                *("-p", str(target.pid), "-o", theirs, f"--control=fd:{ctl[0]},{ack[1]}"),
            ],
            pass_fds=(ctl[0], ack[1]),
        )
        with recording(tmp_path, target.pid, size=4096, stacks=stacks):
            os.write(ctl[1], b"ping\n")
            os.read(ack[0], 8)
            let_go(target)
            target.wait(timeout=30)
        perf.send_signal(signal.SIGINT)
        perf.wait(timeout=30)
    for each in (*ctl, *ack):
        os.close(each)
    ours = tmp_path / "perf.data"
    shown = ["--show-task-events", "--show-mmap-events", "-F", "comm,pid,tid,cpu,event,ip,sym,dso,trace"]
    expected = without_samples(script(theirs, *shown))
    assert sum("sched_switch" in event for event in expected) > 40
    found = without_samples(script(ours, *shown))
    # Only what differs: both lists are long.
    differing = "\n".join(difflib.unified_diff(expected, found, "perf", "perfcase-helper", lineterm=""))
    assert not differing, differing
    # The timers of both run in the same CPU time.
    counts = [sum("cpu-clock" in line for line in script(path, "-F", "event")) for path in (ours, theirs)]
    assert counts[0] == pytest.approx(counts[1], rel=0.3, abs=5)
    said = subprocess.run(["perf", "evlist", "-i", ours], capture_output=True, text=True, check=True).stdout
    assert [line for line in said.splitlines() if line[0] != "#"] == ["cpu-clock", *SCHEDULER]


@pytest.mark.parametrize("shell", SHELLS)
def test_without_perf_a_known_rate_is_recorded(shell: str, tmp_path: Path) -> None:
    """200 sleeps of a command, where perf is not installed: the view of the recorded switches has them."""
    path, out = path_without("perf", "trace-cmd"), tmp_path / "x.perfcase"
    work = "import time\nfor _ in range(200): time.sleep(0.005)"
    done = run(
        shell, "-q", "-o", out, "--symbols", "none", "--stacks", "all", "--", sys.executable, "-c", work, PATH=path
    )
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    capture.check()
    source = capture.source("perf")
    instead = "perf is not installed: perfcase-helper opens the events"
    assert (source["tool"], source["kind"], source["reason"].startswith(instead)) == (
        "perfcase-helper",
        "perf_data",
        True,
    )
    assert source["status"] == ("available" if source["reason"] == instead else "degraded")
    assert capture.source("pmc")["reason"].startswith("perf is not installed: perfcase-helper counts")
    with query.connect(store.open_case(out, tmp_path / "x.case").folder) as connection:
        # What python sleeps beside this is its own affair: at its start and end.
        ((switches, names),) = connection.execute(
            "SELECT count(*), list_sort(list(DISTINCT comm)) FROM sched_switch JOIN thread USING (utid)"
            " JOIN source AS s ON s.source_id = sched_switch.source_id"
            " WHERE s.name = 'perf' AND prev_state NOT IN (0, 256)"
        ).fetchall()
        assert names == [Path(sys.executable).resolve().name[:15]] or "python" in names[-1]
        assert switches == pytest.approx(200, rel=0.2)
        assert 0 < recorded_ns(connection, "function_profile") < 60e9
        ((counted,),) = connection.execute(
            "SELECT sum(count) FROM software_events WHERE event = 'context-switches'"
        ).fetchall()
        assert counted >= switches
        assert connection.execute("SELECT count(*) FROM import_issue WHERE severity != 'info'").fetchall() == [(0,)]


def test_a_process_is_recorded_with_its_threads_and_children_and_nobody_else(tmp_path: Path) -> None:
    """Those of before and those of later; a stranger that switches and maps meanwhile is not in the file."""
    stranger = subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"])
    family = (
        "import subprocess, sys, threading, time\n"
        "early = subprocess.Popen(['sleep', '60'])\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "print(early.pid, *[t.native_id for t in threading.enumerate()], flush=True)\n"
        "sys.stdin.readline()\n"
        "late = subprocess.Popen(['sleep', '0.01'])\n"
        "thread = threading.Thread(target=time.sleep, args=(0.01,))\n"
        "thread.start()\n"
        "print(late.pid, thread.native_id, flush=True)\n"
        "thread.join(); late.wait(); early.kill(); early.wait()\n"
    )
    target = subprocess.Popen([sys.executable, "-c", family], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        early = {int(word) for word in target.stdout.readline().split()}
        with recording(tmp_path, target.pid):
            target.stdin.write("\n")
            target.stdin.flush()
            child, thread = (int(word) for word in target.stdout.readline().split())
            target.wait(timeout=30)
    finally:
        for process in (target, stranger):
            process.kill()
            process.wait()
    found, late = records(tmp_path / "perf.data"), {child, thread}
    # A thread that begins has the name of the one that began it.
    assert {r.tid for r in found if r.kind == COMM} == early | {child}
    assert {target.pid} | late <= {r.tid for r in found if r.kind == SAMPLE} <= early | late
    assert {r.tid for r in found if r.kind == EXIT} == early | late
    assert {r.tid for r in found if r.kind == FORK and r.time_ns} == late
    assert {r.pid for r in found if r.kind == MMAP2} - {KERNEL} <= early | late


def test_a_control_group_is_recorded_with_whom_it_gets_and_nobody_else(tmp_path: Path) -> None:
    target = subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"])
    stranger = subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"])
    try:
        with control_group(f"perfcase-events-{os.getpid()}", target) as group:
            if attempt(tmp_path, f"cgroup={group}").returncode:
                pytest.skip("the kernel has no perf events of control groups")
            time.sleep(0.1)  # the sleep of before has ended
            with recording(tmp_path, f"cgroup={group}"):
                time.sleep(0.5)
    finally:
        stranger.kill()
        stranger.wait()
    found = records(tmp_path / "perf.data")
    assert {r.pid for r in found if r.kind == EXIT}
    names = thread_names(tmp_path / "perf.data")
    assert target.pid in names
    assert stranger.pid not in names
    assert set(names.values()) == {b"sh", b"sleep"}
    assert {r.pid for r in found if r.kind == MMAP2} - {KERNEL} <= set(names)
    parents = {r.tid: int.from_bytes(r.body[4:8], "little") for r in found if r.kind == FORK and r.time_ns}
    assert set(parents.values()) == {target.pid}


# perf of another kernel (the wrapper of Ubuntu), and one that fails when it is in earnest.
BROKEN = {
    "perf record fails here: perf not found for this kernel": "echo perf not found for this kernel >&2; exit 2",
    "perf record did not start (no memory)": 'case $* in *perf/perf.data*) echo no memory >&2; exit 3;; esac; exec PERF "$@"',
}


@pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")
@pytest.mark.parametrize("why", BROKEN)
@pytest.mark.parametrize("shell", SHELLS)
def test_where_perf_does_not_work_the_helper_records(shell: str, why: str, tmp_path: Path) -> None:
    perf, out = tmp_path / "perf", tmp_path / "x.perfcase"
    perf.write_text("#!/bin/sh\n" + BROKEN[why].replace("PERF", shutil.which("perf")) + "\n")
    perf.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = run(
        shell,
        "-q",
        "-o",
        out,
        "--symbols",
        "none",
        "--stacks",
        "all",
        "--",
        "sleep",
        "0.3",
        PATH=path,
        PERFCASE_NO_TRACE_CMD="1",
    )
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    capture.check()
    source = capture.source("perf")
    assert source["tool"] == "perfcase-helper"
    assert source["reason"].startswith(f"{why}: perfcase-helper opens the events"), source["reason"]
    assert source["event_count"] > 0


HOSTILE = """
import ctypes, mmap, os, sys
name, before, after = os.fsencode(sys.argv[1]), sys.argv[2], sys.argv[3]
ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
def mapped(path):
    # Step by step: as a whole, a path is shorter than the longest.
    *folders, file = path.split("/")[1:]
    os.chdir("/")
    for folder in folders:
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
    with open(file, "wb+") as opened:
        opened.truncate(4096)
        return mmap.mmap(opened.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
kept = [mapped(before)]
print("there", flush=True)
sys.stdin.readline()
kept.append(mapped(after))
"""


@pytest.mark.parametrize(
    "name", ["plain", "new\nline", "\x1b[31mred", "back\\slash", "\\012", "-rf 'q' \"d\" $(x)", "long", "\udcff"]
)
def test_hostile_names_are_kept_as_they_are(name: str, tmp_path: Path) -> None:
    """Threads and mapped files, those of before the recording and those of during it."""
    # the kernel has no longer ones to tell: its own buffer has 4096 bytes
    folders = "/".join(["x" * 200] * ((3900 - len(str(tmp_path))) // 201)) if name == "long" else "d"
    before, after = (f"{tmp_path}/{folders}/{word} {name}" for word in ("before", "after"))
    target = subprocess.Popen(
        [sys.executable, "-c", HOSTILE, name, before, after], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert target.stdout.readline() == "there\n"
        with recording(tmp_path, target.pid):
            target.stdin.write("\n")
            target.stdin.flush()
            assert target.wait(timeout=30) == 0
    finally:
        target.kill()
        target.wait()
        shutil.rmtree(tmp_path / "d", ignore_errors=True)
    found = records(tmp_path / "perf.data")
    paths = [record.name for record in found if record.kind == MMAP2]
    assert [path for path in (os.fsencode(before), os.fsencode(after)) if path in paths] == [
        os.fsencode(before),
        os.fsencode(after),
    ]
    assert thread_names(tmp_path / "perf.data") == {target.pid: os.fsencode(name)[:15]}
    store.open_case(tmp_path / "perf.data", tmp_path / "x.case")


def test_without_tracefs_the_samples_are_left(tmp_path: Path) -> None:
    hidden = 'for place in /sys/kernel/tracing /sys/kernel/debug; do mount -t tmpfs none "$place" || exit 99; done; exec "$@"'
    refused = in_own_mounts(hidden, *arguments(tmp_path, "try", "self", 128, SCHEDULER, "cpu-clock"), timeout=30)
    assert (refused.returncode, "sched:sched_switch: the kernel has no such tracepoint" in refused.stderr) == (1, True)
    (tmp_path / "none").mkdir()
    taken = in_own_mounts(hidden, *arguments(tmp_path / "none", "try", "self", 128, (), "cpu-clock"), timeout=30)
    assert (taken.returncode, taken.stderr) == (0, "")
    with held("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done") as target:
        (tmp_path / "events").write_text("")
        words = arguments(tmp_path, "stream", str(target.pid), 128, (), "cpu-clock")
        with subprocess.Popen(words) as recorder:
            wait_for(tmp_path / "ready", "ready", recorder)
            let_go(target)
            target.wait(timeout=30)
            recorder.send_signal(signal.SIGINT)
    with query.connect(store.open_case(tmp_path / "perf.data", tmp_path / "x.case").folder) as connection:
        samples, issues = "SELECT count(*) > 3 FROM sample", "SELECT kind FROM import_issue"
        assert connection.execute(samples).fetchall() == [(True,)]
        assert connection.execute(issues).fetchall() == []


def test_threads_that_end_while_they_are_opened_are_no_error(tmp_path: Path) -> None:
    """A program whose threads live for a moment; a process that is gone beside one that is there; nothing but those that are gone."""
    churn = (
        "import threading\nprint('there', flush=True)\n"
        "while True:\n ts = [threading.Thread(target=int) for _ in range(20)]\n [t.start() for t in ts]\n [t.join() for t in ts]"
    )
    gone = subprocess.Popen(["true"])
    gone.wait()
    target = subprocess.Popen([sys.executable, "-c", churn], stdout=subprocess.PIPE, text=True)
    try:
        target.stdout.readline()
        for _ in range(20):
            done = attempt(tmp_path, f"{gone.pid},{target.pid}", *SCHEDULER)
            assert (done.returncode, done.stderr) == (0, "")
    finally:
        target.kill()
        target.wait()
    done = attempt(tmp_path, f"{gone.pid},{target.pid}", *SCHEDULER)
    assert (done.returncode, done.stderr) == (1, "perfcase-helper: there is none of these processes any more\n")


def test_five_hundred_threads_need_more_files_than_a_user_may_open(tmp_path: Path) -> None:
    """A counter of each event for each thread on each CPU: the limit is raised as far as it may be, and the rest is said."""
    target = subprocess.Popen(
        [sys.executable, "-c", THREADS, "500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert target.stdout.readline() == "there\n"
        tids = {int(task.name) for task in Path(f"/proc/{target.pid}/task").iterdir()}
        words = arguments(tmp_path, "try", str(target.pid), 128, SCHEDULER, "cpu-clock")
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)

        def tried(hard: int, *before: str) -> tuple[int, str]:
            def limit() -> None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))

            done = subprocess.run(
                [*before, *words], preexec_fn=limit, capture_output=True, text=True, check=False, timeout=60
            )
            return done.returncode, re.sub(r"^(perfcase-helper: )[^ ]*", r"\1EVENT:", done.stderr)

        refused = (
            "perfcase-helper: EVENT: too many threads to record each: raise the limit of open files (ulimit -n),"
            " or record the whole host\n"
        )
        assert tried(256, "setpriv", "--bounding-set", "-sys_resource", "--") == (1, refused)
        assert tried(most) == (0, "")
        with recording(tmp_path, target.pid):
            target.stdin.close()
            target.wait(timeout=30)
    finally:
        target.kill()
        target.wait()
    assert set(thread_names(tmp_path / "perf.data")) == tids
    assert {record.tid for record in records(tmp_path / "perf.data") if record.kind == EXIT} >= {target.pid}


def test_a_user_records_a_command_of_their_own(tmp_path: Path) -> None:
    """Only what runs in the program, with small buffers; and others' processes are refused, with the reason."""
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if not 1 < paranoid < 3:
        pytest.skip(f"perf_event_paranoid is {paranoid}")
    place = Path("/tmp") / f"perfcase-events-{os.getpid()}"
    place.mkdir(mode=0o777)
    try:
        place.chmod(0o777)
        shutil.copy(arguments(tmp_path, "try", "self", 1, (), "-")[0], place / "helper")
        (place / "none").write_text("")
        user = [
            "setpriv",
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "--no-new-privs",
            str(place / "helper"),
        ]

        def tried(scope: str, sampler: str) -> tuple[int, str]:
            words = [*user, "events", "try", scope, "8192", sampler, "fp", str(place / "none")]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
            return done.returncode, done.stderr

        refusal = f"Permission denied: perf_event_paranoid is {paranoid}: run as root, or: sysctl kernel.perf_event_paranoid=-1\n"
        assert tried("self", "cpu-clock:u") == (0, "")
        assert tried("self", "cpu-clock") == (1, f"perfcase-helper: cpu-clock: {refusal}")
        assert tried("all", "cpu-clock:u") == (1, f"perfcase-helper: cpu-clock:u: {refusal}")
    finally:
        shutil.rmtree(place)

"""All sources begin together, and one line says when they record: what happens from then on is in the capture."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfcase.case import query, store
from tests.recorder.support import SHELLS, TRACEFS, Capture, command, environment, helper, parse_snapshots, run

pytestmark = pytest.mark.parametrize("shell", SHELLS)

MARKS = 40
# Marks are system calls and context switches. It is told of its time by a line, and then ends.
MARKER = f"""
import os, sys, time
sys.stdin.readline()
for _ in range({MARKS}):
    os.getpriority(os.PRIO_PROCESS, 0)
    time.sleep(0.001)
"""


def test_what_comes_after_the_line_is_in_every_source(shell: str, tmp_path: Path) -> None:
    if TRACEFS is None or os.geteuid() != 0 or not shutil.which("perf"):
        pytest.skip("perf or tracefs is not here, or not ours to use")
    marker = subprocess.Popen([sys.executable, "-c", MARKER], stdin=subprocess.PIPE, text=True)
    out = tmp_path / "x.perfcase"
    recorder = subprocess.Popen(
        command(shell, "-o", out, "--pid", str(marker.pid)), env=environment(), stderr=subprocess.PIPE, text=True
    )
    assert recorder.stderr
    assert marker.stdin
    line = next((line for line in recorder.stderr if line.startswith("recording: ")), "")
    said_ns = time.monotonic_ns()
    marker.stdin.write("go\n")
    marker.stdin.close()
    said = recorder.communicate(timeout=60)[1]
    marker.wait()
    assert recorder.returncode == 0, said
    assert line == "recording: host, proc, process, pmc, ftrace, stacks, perf, symbols\n"
    capture = Capture.read(out)
    capture.check()
    sources = {source["name"]: source for source in capture.manifest["sources"]}
    assert max(source["started_monotonic_ns"] for source in sources.values()) < said_ns
    for name in ("proc", "process"):
        assert parse_snapshots(capture.content(f"{name}/snapshots"))[0].monotonic_ns < said_ns
    with query.connect(store.open_case(out, tmp_path / "x.case").folder) as connection:
        calls = connection.execute(
            "SELECT s.name, (SELECT count(*) FROM syscall WHERE name = 'getpriority') FROM source AS s WHERE s.is_syscall_source"
        ).fetchall()
        assert calls == [("ftrace", MARKS)]
        switches = connection.execute(
            """SELECT count(*), count(stack_id) FROM thread_state JOIN thread USING (utid)
            WHERE tid = ? AND state = 'running' AND next_state = 'sleeping'""",
            [marker.pid],
        ).fetchone()
        # Without those of its end: while it is taken down it may lose its CPU when its events have gone.
        # On a busy machine some of the sleeps are over before they begin.
        assert switches[0] > MARKS // 2
        assert switches[1] >= switches[0] - 1
        ((counted,),) = connection.execute(
            "SELECT sum(count) FROM pmc_event WHERE event LIKE 'context-switches%'"
        ).fetchall()
        assert counted >= MARKS


def test_quiet_says_nothing_of_it(shell: str, tmp_path: Path) -> None:
    done = run(shell, "-q", "-o", tmp_path / "x.perfcase", "--", "true")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_perf_without_control_records_too(shell: str, tmp_path: Path) -> None:
    """perf before 5.10 cannot be asked whether it counts already."""
    perf = shutil.which("perf")
    if not perf:
        pytest.skip("perf is not installed")
    tools = tmp_path / "bin"
    tools.mkdir()
    old = tools / "perf"
    old.write_text(
        f"""#!/bin/sh
case "$*" in
*' -h') {perf} "$@" 2>&1 | grep -v -e --control ;;
*--control*) echo "unknown option" >&2; exit 129 ;;
*) exec {perf} "$@" ;;
esac
"""
    )
    old.chmod(0o755)
    out = tmp_path / "x.perfcase"
    begin = time.monotonic()
    # The loop is for samples: each of the short processes may end before its first.
    workload = f"for i in $(seq {MARKS}); do sleep 0.001; done; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"
    done = run(shell, "-o", out, "--stacks", "all", "--", "sh", "-c", workload, PATH=f"{tools}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    for name in ("pmc", "perf"):
        assert capture.source(name)["status"] != "missing", capture.source(name)
        assert capture.source(name)["event_count"] > 0
        assert not [word for word in capture.source(name)["command"] if word.startswith("--control")]
    counts = [line.split(",") for line in capture.content("pmc/perf-stat.csv").decode().splitlines()]
    told = [line[1] for line in counts if len(line) > 3 and line[3].startswith("context-switches")]
    switches = sum(int(count) for count in told if count != "<not counted>")
    assert switches >= MARKS, "nothing of the command came before"
    assert time.monotonic() - begin < 20, "no wait ran out"


def test_a_count_is_waited_for_in_vain(shell: str, tmp_path: Path) -> None:
    """A process without perf events does not count, and one that ended never will."""
    child = subprocess.Popen(["sleep", "30"])
    (tmp_path / "pid").write_text(f"{child.pid}\n")
    wait = [helper(), "counting", tmp_path / "pid", str(child.pid)]
    assert subprocess.run([*wait, "0.1"], check=False).returncode == 2
    child.kill()
    assert subprocess.run([*wait, "5"], check=False).returncode == 1
    child.wait()


THREADS = 2000
IDLE_THREADS = """
#include <pthread.h>
#include <unistd.h>
static void *idle(void *unused) { for (;;) sleep(1); return unused; }
int main(void) {
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  for (int i = 0; i < %d; i++) if (pthread_create(&thread, &small, idle, NULL)) return 2;
  write(1, "", 1);
  return sleep(60);
}
"""


def test_thousands_of_threads_are_followed_in_time(shell: str, tmp_path: Path) -> None:
    if TRACEFS is None or os.geteuid() != 0:
        pytest.skip("tracefs is not here, or not ours to use")
    program = tmp_path / "threads"
    build = ["gcc", "-w", "-pthread", "-xc", "-o", program, "-"]
    subprocess.run(build, input=(IDLE_THREADS % THREADS).encode(), check=True)
    target = subprocess.Popen([program], stdout=subprocess.PIPE)
    try:
        if target.stdout.read(1) != b"\0":
            pytest.skip(f"no {THREADS} threads here")
        options = ("-q", "-o", tmp_path / "x.perfcase", "--duration", "1", "--pid", str(target.pid))
        done = run(shell, *options, PERFCASE_NO_TRACE_CMD="1")
    finally:
        target.kill()
        target.wait()
    assert done.returncode == 0, done.stderr
    capture = Capture.read(tmp_path / "x.perfcase")
    ftrace = capture.source("ftrace")
    assert (ftrace["status"], ftrace["lost_events"]) == ("available", 0), ftrace["reason"]
    begin = capture.manifest["clock"]["anchors"][0]["monotonic_ns"]
    # Were they given to the kernel one by one, it would take some 20 s.
    assert ftrace["started_monotonic_ns"] - begin < 10_000_000_000


def test_a_proc_of_another_pid_namespace_is_refused_at_once(shell: str, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespace can be made here: unshare is refused, as in a container without CAP_SYS_ADMIN")
    for options, status, said in (([], 1, "is that of another PID namespace"), (["--mount-proc"], 0, "")):
        out = tmp_path / "x.perfcase"
        words = ["unshare", "--pid", "--fork", *options, *command(shell, "-q", "-o", out, "--", "true")]
        done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, said in done.stderr) == (status, True), done.stderr
        assert out.exists() == (status == 0)
        assert not list(tmp_path.glob("*.recording"))

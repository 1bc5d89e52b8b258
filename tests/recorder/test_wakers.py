"""Who woke a thread is recorded in the waker, where the kernel has sched_waking; else as well as sched_wakeup tells."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from perfcase.case import query, store
from tests.recorder.support import RECORDER, SHELLS, TRACEFS, Capture, command, in_own_mounts

# Two threads on two CPUs hand a byte to and fro: each is woken by the other alone.
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
static int there[2], back[2];
static void be(const char *name, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
	pthread_setname_np(pthread_self(), name);
}
static void *pong(void *none)
{
	char byte;

	be("pong", 1);
	while (read(there[0], &byte, 1) == 1 && write(back[1], "", 1) == 1)
		continue;
	return none;
}
int main(void)
{
	pthread_t other;
	char byte;

	if (pipe(there) || pipe(back) || pthread_create(&other, 0, pong, 0))
		return 1;
	be("ping", 0);
	for (int i = 0; i < 5000; i++) {
		usleep(20);
		if (write(there[1], "", 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	}
	close(there[1]);
	return pthread_join(other, 0);
}
"""
# The events of this recorder's kernel are those that are left.
HIDE = 'mount --bind "$1" "$2" || exit 99; shift 2; exec "$@"'
WAKEUPS = {"sched_waking", "sched_wakeup", "sched_wakeup_new"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a tracefs of its own")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("known", "chosen"),
    [
        ({"sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new"}, "switch waking wakeup_new"),
        ({"sched_switch", "sched_wakeup", "sched_wakeup_new"}, "switch wakeup wakeup_new"),
        ({"sched_switch", "sched_wakeup_new"}, "switch wakeup_new"),
        (set(), ""),
    ],
)
def test_the_first_that_the_kernel_has_is_chosen(shell: str, known: set[str], chosen: str, tmp_path: Path) -> None:
    (tmp_path / "instances").mkdir()
    for event in known:
        (tmp_path / "events" / "sched" / event).mkdir(parents=True)
        (tmp_path / "events" / "sched" / event / "id").write_text("314\n")
    asks = (
        'home=$1; . "$home/probes/ftrace.sh"; for tool in perf ftrace; do list_events "$tool" | tracefs_existing; done'
    )
    words = [*SHELLS[shell], "-c", asks, "sh", RECORDER.parent]
    done = in_own_mounts(HIDE, tmp_path, "/sys/kernel/tracing", *words, timeout=30)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"sched:sched_{name}" for name in chosen.split()] * 2


@pytest.mark.skipif(os.geteuid() != 0 or TRACEFS is None, reason="tracefs is not here, or not ours to use")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("stacks", ["long", "all"])
def test_the_waker_is_known(is_old: bool, stacks: str, tmp_path: Path) -> None:
    if not (TRACEFS / "events/sched/sched_waking/id").exists():
        pytest.skip("Linux before 4.3")
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, tmp_path / "program.c"], check=True)
    out = tmp_path / "x.perfcase"
    (tmp_path / "nothing").mkdir()
    hidden = TRACEFS / "events/sched/sched_waking" if is_old else tmp_path / "nothing"
    words = command("dash", "-q", "-o", out, "--stacks", stacks, "--", program)
    done = in_own_mounts(HIDE, tmp_path / "nothing", hidden, *words, timeout=120, PERFCASE_NO_TRACE_CMD="1")
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    prefix = "ftrace/raw/format/sched/"
    recorded = {path.removeprefix(prefix) for path in capture.paths() if path.startswith(prefix)}
    expected = {"sched_wakeup" if is_old else "sched_waking", "sched_wakeup_new"}
    assert recorded & WAKEUPS == expected
    asked = {word for word in capture.source("perf")["command"] or [] if re.fullmatch(r"sched:sched_wak\w+", word)}
    assert asked <= {f"sched:{name}" for name in expected}
    connection = query.connect(store.open_case(out).folder)
    wakers = connection.execute(
        """SELECT count(*), count(*) FILTER (w.comm IN ('ping', 'pong') AND w.utid <> s.utid), count(waker_stack_id)
        FROM thread_state AS s JOIN thread AS t USING (utid) LEFT JOIN thread AS w ON w.utid = s.waker_utid
        WHERE t.comm = 'pong' AND state = 'sleeping' AND NOT is_open"""
    ).fetchone()
    count, right, with_stack = wakers
    assert count > 4000
    assert right > 0
    # sched_wakeup is mostly in an interrupt on the CPU of the woken thread, where the waker is not.
    if not is_old:
        assert right > 0.98 * count, wakers
        assert with_stack > 0, (wakers, capture.source("stacks"), capture.source("perf"))

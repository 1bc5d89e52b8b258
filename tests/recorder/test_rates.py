"""Amounts per second of a program that does the same each 10 ms, as each source recorded it: in a short capture, in all intervals."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, store
from perfcase.case.span import recorded_ns
from tests.recorder.support import TRACEFS, run

# 200 calls of getpriority each second, 100 writes of 4096 bytes, 500 faults of pages, 100 switches.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	static char page[4096];
	int file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct timespec at, now, moment = { 0, 200000 };

	if (argc != 3 || file < 0)
		return 1;
	setpriority(PRIO_PROCESS, 0, -20); /* other tests may have all CPUs */
	clock_gettime(CLOCK_MONOTONIC, &at);
	for (long left = atof(argv[1]) * 100; left > 0; left--) {
		char *pages = mmap(0, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int k = 0; k < 5; k++)
			pages[k * 4096] = 1;
		munmap(pages, 5 * 4096);
		getpriority(PRIO_PROCESS, 0);
		getpriority(PRIO_PROCESS, 0);
		if (pwrite(file, page, sizeof page, 0) != sizeof page)
			return 1;
		at.tv_nsec += 10000000;
		if (at.tv_nsec >= 1000000000)
			at.tv_nsec -= 1000000000, at.tv_sec++;
		/* always a sleep: also when it is late */
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec < at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec < at.tv_nsec))
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0);
		else
			clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, 0);
	}
	return 0;
}
"""
STEPS = 250
"""How many steps of 10 ms a command makes."""
TOLERANCE = 0.2
"""When the machine is busy some of a hundred steps are made in the next interval, and some switches are not the program's wish.
What this is about made them a third to two thirds lower."""
FULL_NS = 200_000_000
"""A shorter part of an interval has too few steps to tell a rate."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "steady.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-o", folder / "steady", folder / "steady.c"], check=True)
    return folder / "steady"


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[float]:
    return [value for (value,) in connection.execute(sql).fetchall()]


def close(found: list[float], rate: float) -> None:
    assert found
    assert found == pytest.approx([rate] * len(found), rel=TOLERANCE)


@pytest.mark.parametrize(("mode", "without_perf"), [("command", ""), ("pid", ""), ("pid", "1")])
def test_a_known_rate_is_told_by_every_source(mode: str, without_perf: str, program: Path, tmp_path: Path) -> None:
    """The process runs already; or it is a command, which waits until all sources record: its calls are all there, and its
    rates are those of the time after. By perf, and by what stands in for it."""
    if TRACEFS is None or os.geteuid() != 0 or not (without_perf or shutil.which("perf")):
        pytest.skip("perf or tracefs is not here, or not ours to use")
    out, file, is_command, began = tmp_path / "x.perfcase", tmp_path / "file", mode == "command", time.monotonic()
    if is_command:
        done = run(
            "dash",
            "-q",
            "-o",
            out,
            "--stacks",
            "all",
            "--",
            program,
            str(STEPS / 100),
            file,
            PERFCASE_NO_PERF=without_perf,
        )
    else:
        target = subprocess.Popen([program, "60", file])
        try:
            options = ["-q", "-o", out, "--stacks", "all", "--duration", "2.3", "--pid", str(target.pid)]
            done = run("dash", *options, PERFCASE_NO_PERF=without_perf)
        finally:
            target.kill()
            target.wait()
    assert done.returncode == 0, done.stderr
    most_ns = (time.monotonic() - began) * 1e9
    with query.connect(store.open_case(out, tmp_path / "x.case").folder) as connection:
        names = dict(rows(connection, "SELECT (comm, utid) FROM thread WHERE comm = 'steady'"))
        assert list(names) == ["steady"]
        # ftrace: what it counts, over the time that it was on; what a diff and a history divide by
        for name, rate in (("getpriority", 200), ("pwrite64", 100), ("clock_nanosleep", 100)):
            (calls,) = rows(
                connection, f"SELECT sum(call_count) FROM syscall_summary WHERE comm = 'steady' AND name = '{name}'"
            )
            duration_ns = recorded_ns(connection, "syscall_summary")
            if is_command:
                assert (calls, STEPS * 10_000_000 < duration_ns < most_ns) == (rate * STEPS / 100, True)
            else:
                close([calls / (duration_ns / 1e9)], rate)
        (end_ns,) = rows(
            connection, "SELECT coalesce(max(end_ts_ns), 9000000000000000000) FROM process WHERE name = 'steady'"
        )
        full = f"interval_ns > {FULL_NS} AND ts_ns + interval_ns <= {end_ns}"
        # A command has waited in its first interval, and is loaded: it faults in pages that are none of its rate.
        first = 1 if is_command else 0
        per_second = "SELECT sum(switch_per_s) FROM context_switches WHERE process = 'steady'"
        close(rows(connection, f"{per_second} AND {full} GROUP BY ts_ns ORDER BY ts_ns")[first:], 100)
        # perf
        (switches,) = rows(
            connection,
            "SELECT count(*) FROM sched_switch JOIN source AS s USING (source_id)"
            f" WHERE s.name = 'perf' AND utid = {names['steady']} AND prev_state NOT IN (0, 256)",
        )
        duration_ns = recorded_ns(connection, "function_profile")
        if is_command:
            close([switches], STEPS)
            assert STEPS * 10_000_000 < duration_ns < most_ns
        else:
            close([switches / (duration_ns / 1e9)], 100)
        # It sleeps nearly all the time, also where the idle task of a CPU traces no switch, as on some virtual machines.
        (on_cpu_ns,) = rows(connection, "SELECT sum(on_cpu_ns) FROM thread_time WHERE comm = 'steady'")
        assert on_cpu_ns < duration_ns / 2
        # perf stat, and /proc
        for event, rate in (("context-switches", 100), ("page-faults", 500)):
            counted = f"FROM software_events WHERE event = '{event}' AND count > 0"
            close(rows(connection, f"SELECT count_per_s {counted} AND {full} ORDER BY ts_ns")[first:], rate)
        for column, rate in (("voluntary_switch_per_s", 100), ("minor_fault_per_s", 500)):
            steady = "FROM process_activity WHERE comm = 'steady'"
            close(rows(connection, f"SELECT {column} {steady} AND {full} ORDER BY ts_ns")[first:], rate)

"""User stacks of `perf record --call-graph dwarf`, unwound at the import: each stack against perf's, address by address.

perf (with libunwind) reads the same tables from the files on this machine, which the import is told to take
(`debug_dirs: /`). The programs are compiled without frame pointers.
"""

import functools
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.case.store import import_core, open_case

C = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
static volatile unsigned long sink;
static int compare(const void *a, const void *b) { sink++; return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) static void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i * i; }
__attribute__((noinline)) static unsigned long deep(int n)
{
	char room[64 + 8 * (n & 7)]; /* a frame of no fixed size needs a frame pointer */
	memset(room, n, sizeof room);
	if (n == 0) { spin(30000); return sink; }
	return deep(n - 1) + room[n & 31];
}
__attribute__((noinline)) static void sorts(void)
{
	static __thread int data[20000];
	for (int i = 0; i < 20000; i++) data[i] = rand();
	qsort(data, 20000, sizeof *data, compare);
}
__attribute__((noinline)) static void aligned(int n)
{
	double room[4] __attribute__((aligned(64)));
	for (int i = 0; i < 4; i++) room[i] = n * i;
	spin(20000 + (unsigned)room[3]);
}
__attribute__((noinline)) static void naps(void) { nanosleep(&(struct timespec){0, 1000000}, 0); }
static sem_t turn;
static volatile int is_waiting;
static void on_signal(int number) { (void)number; spin(20000); }
static void *work(void *depth)
{
	for (int i = 0; i < 40; i++) {
		char text[200];
		if (depth == (void *)40) is_waiting = 1, sem_wait(&turn);
		deep((int)(long)depth); sorts(); aligned(i); naps();
		if (depth != (void *)40) { /* the other sleeps until it is woken */
			while (!is_waiting) naps();
			is_waiting = 0; naps(); naps(); sem_post(&turn);
		}
		for (int k = 0; k < 1000; k++) snprintf(text, sizeof text, "%d %f %s", k, k / 3.0, "abc");
	}
	return 0;
}
int main(void)
{
	pthread_t thread;
	sem_init(&turn, 0, 0);
	signal(SIGPROF, on_signal);
	setitimer(ITIMER_PROF, &(struct itimerval){{0, 5000}, {0, 5000}}, 0);
	pthread_create(&thread, 0, work, (void *)12);
	work((void *)40);
	return pthread_join(thread, 0);
}
"""
CPP = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
static volatile unsigned long sink;
static int thrower(int n) { if (n == 0) throw std::runtime_error("x"); return thrower(n - 1) + 1; }
static int catcher(int n)
{
	try { return thrower(n); } catch (const std::exception &e) { return (int)std::string(e.what()).size(); }
}
int main()
{
	std::map<std::string, std::vector<std::string>> tree;
	for (int r = 0; r < 250; r++) {
		for (int i = 0; i < 1000; i++) tree[std::to_string(i * 7919 % 1000)].push_back(std::to_string(i));
		std::vector<std::string> keys;
		for (auto &pair : tree) keys.push_back(pair.first);
		std::sort(keys.begin(), keys.end(), [](auto &a, auto &b) { sink++; return a > b; });
		std::function<int(int)> f = [&](int n) { return n ? f(n - 1) + 1 : catcher(20); };
		for (int i = 0; i < 100; i++) sink += f(10);
	}
}
"""
RUST = r"""
use std::collections::BTreeMap;
#[inline(never)]
fn fib(n: u32) -> u64 { if n < 2 { n as u64 } else { fib(n - 1) + fib(n - 2) } }
fn main() {
    let thread = std::thread::spawn(|| (0..120).map(|i| fib(22 + i % 3)).sum::<u64>());
    let mut tree = BTreeMap::new();
    for i in 0..1_800_000u64 { tree.insert(i.wrapping_mul(2654435761) % 10007, format!("{i}")); }
    let mut values: Vec<_> = tree.values().cloned().collect();
    values.sort();
    println!("{} {} {}", values.len(), thread.join().unwrap(), fib(27));
}
"""
COMPILERS = {
    "c": ("c", C, ["gcc", "-O2", "-fomit-frame-pointer", "-pthread"]),
    "c++": ("cpp", CPP, ["g++", "-O2", "-fomit-frame-pointer"]),
    "rust": ("rs", RUST, ["rustc", "-O", "-Cforce-frame-pointers=no"]),
}
TRIES = 3
"""Recordings, until perf shows that one thread has woken the other: on a busy machine it rarely shows none."""
EVENTS = "cpu-clock,sched:sched_switch,sched:sched_wakeup"


def run(*command: object) -> str:
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, list[list[int]]]]:
    """For a program in this language: a recording, and the stacks that perf prints of it."""

    @functools.cache
    def record(language: str) -> tuple[Path, list[list[int]]]:
        suffix, source, compiler = COMPILERS[language]
        if not shutil.which("perf") or not shutil.which(compiler[0]):
            pytest.skip(f"needs perf and {compiler[0]}")
        folder = tmp_path_factory.mktemp("unwind")
        (folder / f"work.{suffix}").write_text(source)
        run(*compiler, folder / f"work.{suffix}", "-o", folder / "work")
        data = folder / "perf.data"
        options = ["-q", "-m", "16M", "-F", "2999", "-e", EVENTS, "--call-graph", "dwarf,16384", "-o", data]
        # On one CPU each thread is woken by the thread that wakes it. Another CPU that is idle would do so itself, and be in
        # no recording of one process alone.
        cpu = {min(os.sched_getaffinity(0))}
        for _ in range(TRIES):
            done = subprocess.run(
                ["perf", "record", *options, folder / "work"],
                capture_output=True, text=True, check=False, preexec_fn=lambda: os.sched_setaffinity(0, cpu),
            )  # fmt: skip
            if done.returncode:
                pytest.skip(f"perf cannot record here: {done.stderr.strip()[-200:]}")
            text = run("perf", "script", "-i", data, "--max-stack", 1024, "--no-inline", "-F", "time,event,ip,sym,dso")
            if language != "c" or any("sched_wakeup" in each and "sem_post" in each for each in text.split("\n\n")):
                break
        stacks: list[list[int]] = []
        for line in filter(None, text.splitlines()):
            # A sample without a callchain is one line, with no empty one after it.
            if line.startswith("\t"):
                stacks[-1].append(int(line.split()[0], 16))
            else:
                stacks.append([])
        return data, stacks

    return record


def imported(data: Path, out: Path, debug_dirs: list[str]) -> tuple[duckdb.DuckDBPyConnection, list[dict]]:
    out.mkdir()
    result = import_core().import_capture(str(data), str(out), {"debug_dirs": debug_dirs}, lambda *_: None)
    case = duckdb.connect()
    for table in result["tables"]:
        case.execute(f"CREATE VIEW {table} AS FROM '{out}/tables/{table}.parquet'")
    return case, result["issues"]


# What a handler returns to was not called: ours is its first byte, perf's the one before, as if it had been.
STACKS = """
    WITH place AS (
        SELECT
            stack_id,
            list(
                frame.address - CASE WHEN symbol = '__restore_rt' AND symbol_offset_bytes = 0 THEN 1 ELSE 0 END
                ORDER BY position
            ) AS addresses
        FROM (SELECT stack_id, unnest(frame_ids) AS frame_id, generate_subscripts(frame_ids, 1) AS position FROM stack)
        JOIN frame USING (frame_id)
        WHERE NOT is_inlined
        GROUP BY ALL
    )
    SELECT end_reason, kernel_depth, coalesce(addresses, []), coalesce(octet_length(user_stack), 0)
    FROM sample
    LEFT JOIN sample_detail USING (sample_id)
    LEFT JOIN stack USING (stack_id)
    LEFT JOIN place USING (stack_id)
    ORDER BY sample_id
"""


@pytest.mark.parametrize("language", COMPILERS)
def test_every_stack_is_perfs(language: str, recording: Callable, tmp_path: Path) -> None:
    data, printed = recording(language)
    case, _ = imported(data, tmp_path / "case", ["/"])
    stacks = case.execute(STACKS).fetchall()
    assert len(stacks) == len(printed) > 100
    differences = Counter()
    explained = 0
    for (reason, kernel_depth, ours, copied_bytes), expected in zip(stacks, printed, strict=True):
        if ours == expected:
            continue
        if not copied_bytes and ours[:kernel_depth] == expected:
            # perf shows no user frame at all where the kernel could not read the stack; the registers have one.
            explained += 1
        elif reason == "no mapping covers the address" and ours == expected[:-1]:
            # Both come to a return address that is none, in code that left the stack in disorder; perf prints it.
            explained += 1
        elif reason is None and expected and ours[: len(expected)] == expected:
            # perf ends early; ours goes on, by the same tables, to the thread's first function.
            explained += 1
        else:
            differences[f"{reason}: {[hex(a) for a in ours]} against {[hex(a) for a in expected]}"] += 1
    assert differences.total() <= len(printed) // 100, differences
    assert explained <= len(printed) // 20
    assert sum(len(expected) > 10 for expected in printed) > 10
    complete = sum(reason is None for reason, *_ in stacks)
    assert complete > len(stacks) * 0.9, Counter(reason for reason, *_ in stacks)


def test_both_ends_of_a_wait_have_their_stacks(recording: Callable, tmp_path: Path) -> None:
    case, _ = imported(recording("c")[0], tmp_path / "case", ["/"])
    # For each sleep: what the thread was doing, and who ended it. Timers end most, the other thread's sem_post some.
    ends = """
        SELECT DISTINCT sleeper.depth > sleeper.kernel_depth, waker.depth > waker.kernel_depth
        FROM thread_state AS state
        JOIN thread USING (utid)
        JOIN stack AS sleeper USING (stack_id)
        LEFT JOIN stack AS waker ON waker.stack_id = waker_stack_id
        WHERE state.state = 'sleeping' AND NOT state.is_open AND comm = 'work'
        ORDER BY ALL
    """
    rows = case.execute(ends).fetchall()
    assert {sleeper for sleeper, _ in rows} == {True}
    assert True in {waker for _, waker in rows}


def test_views_of_waits_show_both_ends(recording: Callable, tmp_path: Path) -> None:
    """The first thread waits for the semaphore that the second posts; both nap."""
    folder = open_case(recording("c")[0], tmp_path / "x.case", debug_dirs=[Path("/")]).folder
    with query.connect(folder) as case:
        woken = case.execute("""
            SELECT sum(sleep_count) FROM off_wake
            WHERE comm = 'work' AND contains(stack, ';main;work;') AND contains(waker_stack, 'start_thread;work;sem_post')
        """).fetchone()[0]
        naps = case.execute("""
            SELECT contains(stack, ';main;work;naps;') AS is_first, sum(off_cpu_count) FROM off_cpu_by_stack
            WHERE comm = 'work' AND state = 'sleeping' AND contains(stack, 'work;naps;') GROUP BY ALL ORDER BY ALL
        """).fetchall()
    # How many is the scheduler's to say: the timer's signals end sleeps as well.
    assert woken is not None
    assert [is_first for is_first, _ in naps] == [False, True]
    assert all(count >= 10 for _, count in naps)


def test_without_the_files_each_stack_says_what_it_lacks(recording: Callable, tmp_path: Path) -> None:
    case, issues = imported(recording("c")[0], tmp_path / "case", [])
    reasons = case.execute("SELECT DISTINCT end_reason FROM stack WHERE depth > kernel_depth ORDER BY ALL").fetchall()
    assert ("no unwind information for work: file not in capture",) in reasons
    assert all(reason for (reason,) in reasons)
    (issue,) = [issue for issue in issues if issue["kind"] == "unwinding"]
    total = case.execute("SELECT count(*) FROM sample_detail WHERE user_regs IS NOT NULL").fetchone()[0]
    assert f"0 of {total} user stacks" in issue["message"]
    assert issue["severity"] == "warning"

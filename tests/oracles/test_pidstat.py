"""process_activity and process_summary against pidstat, thread_census against ps: all see the same files of a process."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.recorder.support import helper

# A process that sleeps, with files of our own bound over its own; after half a second they change.
SCRIPT = """
sleep 30 & pid=$!
trap 'kill $pid' EXIT
echo $pid > "$1/pid"
for name in stat io status schedstat uptime; do
  sed "s/PID/$pid/" "$1/before.$name" > "$1/live.$name"
  case $name in uptime) to=/proc/uptime ;; *) to=/proc/$pid/$name ;; esac
  mount --bind "$1/live.$name" "$to" || exit 77
done
(sleep 0.5; for name in stat io status schedstat uptime; do sed "s/PID/$pid/" "$1/after.$name" > "$1/live.$name"; done) &
LC_ALL=C S_TIME_FORMAT=ISO pidstat -urdwh -p $pid 1 1
"""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
IO = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes")


def files(rng: random.Random) -> dict[str, tuple[str, str]]:
    """A process's files before and after a second."""
    found: dict[str, tuple[str, str]] = {}

    def grown(most: int) -> tuple[int, int]:
        start = rng.randrange(10 ** rng.randrange(1, 9))
        return start, start + rng.choice([0, rng.randrange(most)])

    minor, major, user, system = (grown(most) for most in (5000, 50, 100, 100))
    wait, voluntary, involuntary = grown(10**9), grown(3000), grown(3000)
    counters = [grown(10**7) for _ in IO]
    rss = grown(10_000)
    for name in ("stat", "io", "status", "schedstat", "uptime"):
        texts = []
        for at in (0, 1):
            texts.append(
                {
                    "stat": f"PID (a b) S 1 1 1 0 -1 4194304 {minor[at]} 7 {major[at]} 9 {user[at]} {system[at]} 0 0 20 0 1"
                    f" 0 100 {rss[at] * 8192} {rss[at]} 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0"
                    " 0 0 0 0 0\n",
                    "io": "".join(f"{key}: {counters[i][at]}\n" for i, key in enumerate(IO)),
                    "status": f"Name:\tab\nTgid:\tPID\nPid:\tPID\nUid:\t0\t0\t0\t0\nThreads:\t1\nVmSize:\t{rss[at] * 8} kB\n"
                    f"VmRSS:\t{rss[at] * 4} kB\nvoluntary_ctxt_switches:\t{voluntary[at]}\n"
                    f"nonvoluntary_ctxt_switches:\t{involuntary[at]}\n",
                    "schedstat": f"1 {wait[at]} 3\n",
                    "uptime": f"{1000 + at}.00 1.00\n",
                }[name]
            )
        found[name] = (texts[0], texts[1])
    return found


def pidstat(folder: Path) -> dict[str, float]:
    command = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        pytest.skip(f"no mount namespace for files of our own over those of a process: {done.stderr.strip()}")
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    head = next(line for line in lines if line.startswith("#"))
    row = lines[lines.index(head) + 1]
    return dict(zip(head.lstrip("# ").split(), row.split(), strict=False))


def perfcase(folder: Path, texts: dict[str, tuple[str, str]], pid: str) -> tuple:
    stream = ""
    for at in (0, 1):
        clock = 1 + at * 1_000_000_000
        stream += f"S {clock} 1 {at}\n"
        paths = [
            ("stat", "stat"),
            ("io", "io"),
            *((f"task/{pid}/{name}", name) for name in ("stat", "status", "schedstat")),
        ]
        for path, name in paths:
            text = texts[name][at].replace("PID", pid)
            stream += f"F {clock} {len(text)} /proc/{pid}/{path}\n{text}\n"
        stream += f"Z {clock} {at} {len(paths)} 1\n"
    (folder / "snapshots").write_text(stream)
    case = store.open_case(folder / "snapshots")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        (row,) = connection.execute(
            "SELECT 100 * user_ratio, 100 * system_ratio, 100 * run_queue_ratio, 100 * cpu_ratio, minor_fault_per_s,"
            " major_fault_per_s, virtual_bytes / 1024, resident_bytes / 1024, read_bytes_per_s / 1024,"
            " write_bytes_per_s / 1024, cancelled_write_bytes_per_s / 1024, voluntary_switch_per_s,"
            " involuntary_switch_per_s FROM process_activity"
        ).fetchall()
        (whole,) = connection.execute(
            "SELECT 100 * user_ns / duration_ns, 100 * system_ns / duration_ns, 100 * cpu_ratio, 1e9 * major_fault_count / duration_ns,"
            " resident_max_bytes / 1024, 1e9 * read_bytes / duration_ns / 1024, 1e9 * write_bytes / duration_ns / 1024,"
            " 1e9 * voluntary_switch_count / duration_ns, 1e9 * involuntary_switch_count / duration_ns FROM process_summary"
        ).fetchall()
    return (*row, *whole)


COLUMNS = ("%usr", "%system", "%wait", "%CPU", "minflt/s", "majflt/s", "VSZ", "RSS", "kB_rd/s", "kB_wr/s", "kB_ccwr/s",
           "cswch/s", "nvcswch/s")  # fmt: skip
SUMMARY = ("%usr", "%system", "%CPU", "majflt/s", "RSS", "kB_rd/s", "kB_wr/s", "cswch/s", "nvcswch/s")


@pytest.mark.skipif(shutil.which("pidstat") is None, reason="sysstat is not installed: there is no pidstat")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="util-linux is not installed: no namespace")
def test_every_column_is_pidstats(tmp_path: Path) -> None:
    assert (TICKS_PER_S, PAGE_BYTES) == (100, 4096), "what a stream without a manifest is taken to be of"
    rng = random.Random(11)
    cases = []
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        texts = files(rng)
        for name, (before, after) in texts.items():
            (folder / f"before.{name}").write_text(before)
            (folder / f"after.{name}").write_text(after)
        cases.append((folder, texts))
    with ThreadPoolExecutor(4) as pool:
        theirs = list(pool.map(lambda case: pidstat(case[0]), cases))
    for (folder, texts), wanted in zip(cases, theirs, strict=True):
        ours = perfcase(folder, texts, (folder / "pid").read_text().strip())
        for name, value in zip((*COLUMNS, *SUMMARY), ours, strict=True):
            # pidstat prints two digits (half a digit of rounding); it turns waits from ns into ticks first, so that a wait
            # is off by a tick of 10 ms a second at either end, which is 1 %.
            tolerance = 1.01 if name == "%wait" else 0.00501
            assert value == pytest.approx(float(wanted[name]), abs=tolerance), f"{folder.name}: {name}"


def test_threads_by_name_and_state_are_ps(tmp_path: Path) -> None:
    done = threading.Event()
    threads = [threading.Thread(target=done.wait) for _ in range(5)]
    for number, thread in enumerate(threads):
        thread.start()
        Path(f"/proc/self/task/{thread.native_id}/comm").write_text("pool" if number < 3 else f"single {number}")
    child = subprocess.Popen(["sleep", "60"])
    zombie = subprocess.Popen(["true"])
    time.sleep(0.3)  # true has ended and is not waited for
    listing, out = tmp_path / "list", tmp_path / "snapshots"
    listing.write_text("thread stat\nthread status\nthread wchan\n")
    sampler = subprocess.Popen(
        [helper(), "sample", listing, out, "60000000000", f"{child.pid},{zombie.pid},{os.getpid()}"]
    )
    try:
        deadline = time.monotonic() + 20
        while not (out.exists() and b"\nZ " in out.read_bytes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        pids = f"{child.pid},{zombie.pid},{os.getpid()}"
        text = subprocess.run(
            ["ps", "-T", "-p", pids, "-o", "pid=,stat=,comm="], capture_output=True, text=True, check=True
        ).stdout
    finally:
        done.set()
        for process in (sampler, child):
            process.terminate()
            process.wait()
        zombie.wait()
        for thread in threads:
            thread.join()
    theirs: Counter = Counter()
    for line in text.splitlines():
        pid, state, comm = line.split(None, 2)
        theirs[int(pid), state[0], comm.removesuffix(" <defunct>")] += 1
    case = store.open_case(out)
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT pid, state, comm, thread_count FROM thread_census WHERE snapshot = 0"
        ).fetchall()
    # The sampler follows children: this process may have others, which other tests started.
    asked = {child.pid, zombie.pid, os.getpid()}
    ours = {(pid, state, comm): count for pid, state, comm, count in rows if pid in asked}
    assert ours[os.getpid(), "S", "pool"] == 3
    assert ours[zombie.pid, "Z", "true"] == 1
    # This very thread runs or waits for its turn, depending on who looks; the others keep still.
    main = Path("/proc/self/comm").read_text().strip()
    for states in (ours, theirs):
        for state in "RSD":
            states.pop((os.getpid(), state, main), None)
    assert ours == theirs

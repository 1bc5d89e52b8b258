"""The capture of an hour of /proc: snapshots as the recorder writes them (schema/README.md), made of numbers.

python proc.py FILE SNAPSHOTS THREADS [SECONDS BETWEEN TWO]

Each second a tenth of the threads runs and has all its files; the others have only schedstat, and stat in every fourth snapshot.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

THREADS_OF_A_PROCESS = 20
START_NS = 1_000_000_000_000
MEMINFO = "".join(
    f"{name}: {kb} kB\n" for name, kb in (("MemTotal", 65_000_000), ("MemFree", 9_000_000), ("Cached", 30_000_000))
)
STATUS = """Name:\tworker
State:\tS (sleeping)
Tgid:\t{pid}
Pid:\t{tid}
Uid:\t1000\t1000\t1000\t1000
VmPeak:\t  900000 kB
VmSize:\t  890000 kB
VmHWM:\t   70000 kB
VmRSS:\t   60000 kB
RssAnon:\t   50000 kB
RssFile:\t   10000 kB
RssShmem:\t       0 kB
VmSwap:\t       0 kB
Threads:\t20
Cpus_allowed_list:\t0-7
voluntary_ctxt_switches:\t{switches}
nonvoluntary_ctxt_switches:\t3
"""
IO = "rchar: {n}\nwchar: 2\nsyscr: {n}\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n"


def snapshots(snapshot_count: int, threads: int, step_s: int = 1) -> Iterator[str]:
    """Gives one snapshot after the other, so many seconds apart."""
    runs = [0] * threads
    for snapshot in range(snapshot_count):
        second = snapshot * step_s
        now = START_NS + second * 1_000_000_000
        out = [f"S {now} {now + 1_700_000_000_000_000_000} {snapshot}\n"]
        count = 0

        def add(path: str, text: str) -> None:
            nonlocal count
            count += 1
            out.append(f"F {now} {len(text)} {path}\n{text}\n")  # noqa: B023 - called in this round only

        ticks = second * 100
        cpus = "".join(f"cpu{n} {ticks} 0 {ticks} {ticks} 0 0 0 0 0 0\n" for n in ("", 0, 1, 2, 3, 4, 5, 6, 7))
        add("/proc/stat", f"{cpus}intr {ticks}\nctxt {ticks}\nprocesses 1000\nprocs_running 1\nprocs_blocked 0\n")
        add("/proc/loadavg", f"0.10 0.20 0.30 1/{threads} 4000\n")
        add("/proc/meminfo", MEMINFO)
        for number in range(threads):
            tid = 1000 + number
            pid = tid - number % THREADS_OF_A_PROCESS
            folder = f"/proc/{pid}/task/{tid}"
            has_run = second == 0 or (number + second) % 10 == 0
            runs[number] += has_run
            run = runs[number]
            add(f"{folder}/schedstat", f"{run * 1_234_567} {run * 4321} {run}\n")
            if has_run or (number + second) % 4 == 0:
                add(
                    f"{folder}/stat",
                    f"{tid} (worker-{number}) S 1 {pid} {pid} 0 -1 4194304 {run} 0 0 0 {run} {run} 0 0 20 0 20 0 5000 911360000 15000"
                    " 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                )
            if has_run:
                add(f"{folder}/status", STATUS.format(pid=pid, tid=tid, switches=run))
                add(f"{folder}/io", IO.format(n=run * 100))
                add(f"{folder}/wchan", "futex_wait_queue")
        out.append(f"Z {now + 20_000_000} {snapshot} {count} 0\n")
        yield "".join(out)


if __name__ == "__main__":
    with Path(sys.argv[1]).open("w", encoding="ascii") as stream:
        stream.writelines(snapshots(*map(int, sys.argv[2:])))

"""A /proc of a large host that never was, and the sampler on it: in a mount namespace of its own.

    python large_proc.py FOLDER PROCESSES THREADS CPUS HELPER LIST OUT SNAPSHOTS

Prints a line of JSON: the sampler's exit status, and its largest memory.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

INTERVAL_NS = 200_000_000
LONGEST_S = 240
MS_BIND = 4096
FIRST_PID = 1000
INTERRUPTS = 200


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def host(root: Path, threads: int, cpus: int) -> None:
    """Files of the whole host, with a column or a line for each CPU."""
    numbers = range(cpus)
    columns = " ".join(["1234567"] * cpus)
    head = "     " + " ".join(f"CPU{cpu}" for cpu in numbers) + "\n"
    texts = {
        "stat": "cpu  1 2 3 4 5 6 7 8 9 0\n"
        + "".join(f"cpu{cpu} 1234 2345 3456 4567 56 67 78 89 90 0\n" for cpu in numbers)
        + f"intr 77 {'1 ' * 2000}\nctxt 5\nbtime 1700000000\nprocesses 9\nprocs_running 3\nprocs_blocked 0\nsoftirq 1 {'2 ' * 10}\n",
        "interrupts": head + "".join(f"{number:4d}: {columns} IR-PCI-MSI x\n" for number in range(INTERRUPTS)),
        "softirqs": head
        + "".join(f"{name:>10}: {columns}\n" for name in ("HI", "TIMER", "NET_TX", "NET_RX", "SCHED", "RCU")),
        "schedstat": "version 15\ntimestamp 1\n" + "".join(f"cpu{cpu} 0 0 0 0 0 0 83 17 33\n" for cpu in numbers),
        "net/softnet_stat": ("00000001 " + "00000000 " * 11 + "00000000\n") * cpus,
        "loadavg": f"85.09 89.25 91.26 3/{threads} 4711\n",
        "uptime": "108.50 41.74\n",
        "meminfo": "MemTotal: 16000000 kB\nMemFree: 1 kB\n",
        "vmstat": "nr_free_pages 7\npgfault 99\n",
        "sys/kernel/random/boot_id": "11111111-1111-1111-1111-111111111111\n",
        "self/mountinfo": "1 0 0:1 / / rw - tmpfs tmpfs rw\n",
    }
    for name, text in texts.items():
        write(root / name, text)


def thread(folder: Path, tid: int, pid: int, count: int, same: Path) -> None:
    """A thread that sleeps. What does not have its number is the same file for all."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"thread{tid - pid}"
    (folder / "stat").write_text(
        f"{tid} ({name}) S 1 {pid} 1 0 -1 4194304 7 8 9 10 11 12 13 14 20 0 {count} 0 99 4096000 25 18446744073709551615"
        " 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
    (folder / "status").write_text(
        f"Name:\t{name}\nState:\tS (sleeping)\nTgid:\t{pid}\nPid:\t{tid}\nPPid:\t1\nUid:\t0\t0\t0\t0\nVmRSS:\t 300 kB\n"
        f"Threads:\t{count}\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n"
    )
    for file in ("schedstat", "io", "wchan"):
        os.link(same / file, folder / file)


def processes(root: Path, number: int, threads: int) -> None:
    each = threads // number
    for place in range(number):
        pid = FIRST_PID + place * each
        folder = root / str(pid)
        for name, text in {
            "schedstat": "123456 2345 67\n", "wchan": "futex_wait_queue",
            "io": "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n",
            "cgroup": "0::/x\n", "cmdline": "sh\0-c\0x\0", "maps": "",
        }.items():  # fmt: skip
            write(folder / name, text)
        for tid in range(pid, pid + each):
            thread(folder / "task" / str(tid), tid, pid, each, folder)
        for name in ("stat", "status"):
            os.link(folder / "task" / str(pid) / name, folder / name)


def main() -> None:
    """Builds it, and samples it."""
    root, helper, list_of_files, out = (Path(sys.argv[number]) for number in (1, 5, 6, 7))
    number, threads, cpus, snapshots = (int(sys.argv[number]) for number in (2, 3, 4, 8))
    host(root, threads, cpus)
    processes(root, number, threads)
    mounted = ctypes.CDLL(None, use_errno=True).mount(str(root).encode(), b"/proc", None, MS_BIND, None)
    if mounted:
        sys.exit(99)
    out.write_bytes(b"")
    sampler = subprocess.Popen([helper, "sample", list_of_files, out, str(INTERVAL_NS), "all"])
    end, at, seen = time.monotonic() + LONGEST_S, 0, 0
    with out.open("rb") as file:
        while seen < snapshots and time.monotonic() < end and sampler.poll() is None:
            time.sleep(0.1)
            file.seek(at)
            read = file.read()
            whole = read.rfind(b"\n") + 1
            seen += read[:whole].count(b"\nZ ")
            # The line before may be that of the next.
            at += max(0, whole - 1)
    sampler.terminate()
    _, status, used = os.wait4(sampler.pid, 0)
    print(json.dumps({"status": os.waitstatus_to_exitcode(status), "max_rss_bytes": used.ru_maxrss * 1024}))


if __name__ == "__main__":
    main()

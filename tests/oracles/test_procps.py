"""vm_activity against vmstat and memory against free, every column: both see the same files."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracles.fakehost import CPU_COUNT, Host, Moment

MEMORY = """
MemTotal MemFree MemAvailable Buffers Cached SwapCached Active Inactive SwapTotal SwapFree Dirty Writeback Shmem Slab
SReclaimable SUnreclaim
"""
VMSTAT = ["pgpgin", "pgpgout", "pswpin", "pswpout"]
# vmstat's column, ours, what turns ours into its unit. It prints KiB, and percent.
COLUMNS = [
    ("r", "runnable_count", 1),
    ("b", "blocked_count", 1),
    ("swpd", "swap_used_bytes", 1 / 1024),
    ("free", "free_bytes", 1 / 1024),
    ("buff", "buffers_bytes", 1 / 1024),
    ("cache", "cache_bytes", 1 / 1024),
    ("si", "swap_in_bytes_per_s", 1 / 1024),
    ("so", "swap_out_bytes_per_s", 1 / 1024),
    ("bi", "block_in_bytes_per_s", 1 / 1024),
    ("bo", "block_out_bytes_per_s", 1 / 1024),
    ("in", "interrupt_per_s", 1),
    ("cs", "context_switch_per_s", 1),
    ("us", "user_ratio", 100),
    ("sy", "system_ratio", 100),
    ("id", "idle_ratio", 100),
    ("wa", "iowait_ratio", 100),
    ("st", "steal_ratio", 100),
]


def meminfo(rng: random.Random, is_container: bool) -> str:
    total = rng.randrange(10**6, 10**7)  # vmstat rounds above 2^24 KiB: it counts in floats
    value = {name: rng.randrange(total // 20) for name in MEMORY.split()}
    value |= {
        "MemTotal": total,
        "MemAvailable": rng.randrange(total),
        "SwapTotal": 10**6,
        "SwapFree": rng.randrange(10**6),
    }
    if is_container:
        value["MemAvailable"] = total + 5
    return "".join(f"{name}: {value[name]} kB\n" for name in MEMORY.split())


def stat(cpus: list[list[int]], system: list[int], running: int, blocked: int) -> str:
    lines = ["cpu  " + " ".join(str(sum(column)) for column in zip(*cpus, strict=True))]
    lines += [f"cpu{number} " + " ".join(map(str, fields)) for number, fields in enumerate(cpus)]
    lines += [f"intr {system[0]} 0 0", f"ctxt {system[1]}", "btime 1", f"processes {system[2]}"]
    return "\n".join([*lines, f"procs_running {running}", f"procs_blocked {blocked}", "softirq 1 1"]) + "\n"


def host(folder: Path, seed: int) -> Host:
    rng = random.Random(seed)
    cpus = [[rng.randrange(10**7) for _ in range(8)] + [0, 0] for _ in range(CPU_COUNT)]
    system = [rng.randrange(10**9) for _ in range(3)]
    vm = [rng.randrange(10**9) for _ in VMSTAT]
    # vmstat 4.0.2 does not read meminfo again for its second row: the same at both moments.
    memory = meminfo(rng, seed % 3 == 0)
    moments = []
    for _ in range(2):
        files = {
            "/proc/stat": stat(cpus, system, rng.randrange(1, 9), rng.randrange(5)),
            "/proc/meminfo": memory,
            # The free pages tell how large a page is.
            "/proc/vmstat": "".join(f"{name} {value}\n" for name, value in zip(VMSTAT, vm, strict=True))
            + f"nr_free_pages {int(memory.split('MemFree: ')[1].split()[0]) // 4}\n",
        }
        moments.append(Moment(files))
        for fields in cpus:
            steps = [rng.choice([0, rng.randrange(100)]) for _ in range(8)]
            guest, guest_nice = rng.randrange(steps[0] + 1), rng.randrange(steps[1] + 1)
            fields[:] = [value + step for value, step in zip(fields, [*steps, guest, guest_nice], strict=True)]
        system = [value + rng.randrange(10**5) for value in system]
        vm = [value + rng.choice([0, rng.randrange(10**5)]) for value in vm]
    return Host(folder, *moments)


def test_every_figure_is_vmstats(tmp_path: Path) -> None:
    hosts = [host(tmp_path / str(seed), seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        # -n: one head. The second row is the difference.
        texts = list(pool.map(lambda one: one.run("vmstat", "-n", "1", "2"), hosts))
    for one, text in zip(hosts, texts, strict=True):
        _, names, _, last = (line.split() for line in text.splitlines())
        wanted = {name: int(cell) for name, cell in zip(names, last, strict=True)}
        assert set(wanted) == {name for name, _, _ in COLUMNS}
        (ours,) = one.rows("SELECT * FROM vm_activity")
        got = {name: ours[column] * scale for name, column, scale in COLUMNS}
        # vmstat prints whole numbers: half a one of rounding.
        assert got == pytest.approx(wanted, abs=0.50001, rel=0), f"{one.folder.name}\n{text}"


def test_every_figure_is_frees(tmp_path: Path) -> None:
    for seed in range(6):
        one = host(tmp_path / str(seed), seed)
        lines = [line.split() for line in one.run("free", "-b", "-w").splitlines()]
        wanted = [int(cell) for cell in lines[1][1:] + lines[2][1:]]
        ours = one.rows(
            "SELECT memory_bytes, used_bytes, free_bytes, shared_bytes, buffers_bytes, cache_bytes, available_bytes,"
            " swap_total_bytes, swap_used_bytes, swap_free_bytes FROM memory LIMIT 1"
        )
        assert list(ours[0].values()) == wanted, seed


def test_load_averages_are_uptimes(tmp_path: Path) -> None:
    moment = Moment(
        {"/proc/stat": stat([[1] * 10] * CPU_COUNT, [1, 2, 3], 1, 0), "/proc/loadavg": "85.09 9.25 0.26 3/44 5\n"}
    )
    one = Host(tmp_path / "x", moment, moment)
    assert one.run("uptime").strip().endswith("load average: 85.09, 9.25, 0.26")
    ours = one.rows(
        "SELECT load_1min, load_5min, load_15min, runnable_count, thread_count, cpu_count FROM load_average"
    )
    assert list(ours[0].values()) == [85.09, 9.25, 0.26, 3, 44, CPU_COUNT]

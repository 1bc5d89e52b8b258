"""cpu_utilization and cpu_summary against mpstat itself: all see the same counters, a file that is bound over /proc/stat."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store

pytestmark = pytest.mark.skipif(
    None in map(shutil.which, ("mpstat", "unshare")),
    reason="no mpstat to compare with, or no namespace: install sysstat and util-linux",
)
MODES = 10  # user nice system idle iowait irq softirq steal guest guest_nice
SCRIPT = """
mount --bind "$1/live" /proc/stat || exit 77
(sleep 0.5; cat "$1/after" > "$1/live") &
LC_ALL=C S_TIME_FORMAT=ISO mpstat -P ALL 1 1
"""


def counters(rng: random.Random) -> tuple[list[int], list[int]]:
    """A CPU's counters before and after a second, in ticks. Guests' time is a part of user and nice time."""
    before = [rng.randrange(10 ** rng.randrange(1, 9)) for _ in range(MODES)]
    before[0] += before[8]
    before[1] += before[9]
    steps = [rng.choice([0, rng.randrange(100)]) for _ in range(MODES)]
    steps[0] += steps[8]
    steps[1] += steps[9]
    after = [b + s for b, s in zip(before, steps, strict=True)]
    if rng.random() < 0.3:
        # iowait goes backwards now and then. (Where idle does not move, mpstat takes the CPU for one that was offline.)
        after[4] = max(0, before[4] - rng.randrange(5))
        after[3] += 1
    return before, after


def proc_stat(cpus: list[list[int]]) -> str:
    lines = ["cpu  " + " ".join(str(sum(column)) for column in zip(*cpus, strict=True))]
    lines += [f"cpu{number} " + " ".join(map(str, values)) for number, values in enumerate(cpus)]
    return (
        "\n".join([*lines, "intr 1 1", "ctxt 1", "btime 1", "processes 1", "procs_running 1", "procs_blocked 0"]) + "\n"
    )


def mpstat(folder: Path) -> dict[str, list[float]]:
    """CPU to the percentages that mpstat prints: usr nice sys iowait irq soft steal guest gnice idle."""
    shutil.copy(folder / "before", folder / "live")
    command = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        pytest.skip(f"no mount namespace for a /proc/stat of our own: {done.stderr.strip()}")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("Average:")]
    return {row[1]: [float(cell) for cell in row[2:]] for row in rows if row[1] != "CPU"}


def perfcase(
    folder: Path, view: str = "cpu_utilization", moments: Sequence[str] = ("before", "after")
) -> dict[str, list[float]]:
    """The same by one of our views."""
    stream = b""
    for number, name in enumerate(moments):
        data = (folder / name).read_bytes()
        clock = number * number * 1_000_000_000
        stream += b"S %d 1 %d\nF %d %d /proc/stat\n%s\nZ %d %d 1 1\n" % (
            clock, number, clock, len(data), data, clock, number,
        )  # fmt: skip
    (folder / "snapshots").write_bytes(stream)
    case = store.open_case(folder / "snapshots")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT cpu, user_ratio, nice_ratio, system_ratio, iowait_ratio, irq_ratio, softirq_ratio, steal_ratio,"
            f" guest_ratio, guest_nice_ratio, idle_ratio FROM {view}"
        ).fetchall()
    return {row[0]: [100 * cell for cell in row[1:]] for row in rows}


def test_every_share_is_mpstats(tmp_path: Path) -> None:
    rng = random.Random(5)
    # mpstat looks at the CPUs that this machine has: more of them in /proc/stat are ignored.
    cpu_count = int(subprocess.run(["nproc", "--all"], capture_output=True, text=True, check=True).stdout)
    folders = []
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        pairs = [counters(rng) for _ in range(cpu_count)]
        (folder / "before").write_text(proc_stat([before for before, _ in pairs]))
        (folder / "after").write_text(proc_stat([after for _, after in pairs]))
        folders.append(folder)
    with ThreadPoolExecutor(4) as pool:
        theirs = list(pool.map(mpstat, folders))
    for folder, wanted in zip(folders, theirs, strict=True):
        ours = perfcase(folder)
        assert set(ours) == set(wanted) == {"all", *map(str, range(cpu_count))}
        for cpu, shares in wanted.items():
            # mpstat prints two digits: half a digit of rounding, on either side of a tie.
            assert ours[cpu] == pytest.approx(shares, abs=0.00501), f"{folder.name}: CPU {cpu}"


def test_a_capture_of_several_intervals_is_one_of_mpstats(tmp_path: Path) -> None:
    rng = random.Random(7)
    cpu_count = int(subprocess.run(["nproc", "--all"], capture_output=True, text=True, check=True).stdout)
    befores, betweens, afters = [], [], []
    for _ in range(cpu_count):
        before = [rng.randrange(10**6) for _ in range(MODES)]
        steps = [[rng.randrange(100) for _ in range(MODES)] for _ in range(2)]
        for step in steps:
            step[0] += step[8]
            step[1] += step[9]
        befores.append([value + before[place + 8] if place < 2 else value for place, value in enumerate(before)])
        betweens.append([b + s for b, s in zip(befores[-1], steps[0], strict=True)])
        afters.append([b + s for b, s in zip(betweens[-1], steps[1], strict=True)])
    for name, cpus in (("before", befores), ("between", betweens), ("after", afters)):
        (tmp_path / name).write_text(proc_stat(cpus))
    wanted = mpstat(tmp_path)
    ours = perfcase(tmp_path, "cpu_summary", ("before", "between", "after"))
    assert set(ours) == set(wanted) == {"all", *map(str, range(cpu_count))}
    for cpu, shares in wanted.items():
        assert ours[cpu] == pytest.approx(shares, abs=0.00501), cpu

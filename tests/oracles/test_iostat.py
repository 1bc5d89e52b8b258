"""disk_utilization and disk_summary against iostat -xz itself, every column of every device: both see the same files."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracles.fakehost import Host, Moment, table

# iostat's name, ours, what turns ours into its unit.
COLUMNS = [
    ("r/s", "read_per_s", 1),
    ("rkB/s", "read_bytes_per_s", 1 / 1024),
    ("rrqm/s", "read_merge_per_s", 1),
    ("%rrqm", "read_merge_ratio", 100),
    ("r_await", "read_await_ns", 1e-6),
    ("rareq-sz", "read_size_bytes", 1 / 1024),
    ("w/s", "write_per_s", 1),
    ("wkB/s", "write_bytes_per_s", 1 / 1024),
    ("wrqm/s", "write_merge_per_s", 1),
    ("%wrqm", "write_merge_ratio", 100),
    ("w_await", "write_await_ns", 1e-6),
    ("wareq-sz", "write_size_bytes", 1 / 1024),
    ("d/s", "discard_per_s", 1),
    ("dkB/s", "discard_bytes_per_s", 1 / 1024),
    ("drqm/s", "discard_merge_per_s", 1),
    ("%drqm", "discard_merge_ratio", 100),
    ("d_await", "discard_await_ns", 1e-6),
    ("dareq-sz", "discard_size_bytes", 1 / 1024),
    ("f/s", "flush_per_s", 1),
    ("f_await", "flush_await_ns", 1e-6),
    ("aqu-sz", "queue_length", 1),
    ("%util", "util_ratio", 100),
]
MS_FIELDS = (3, 7, 9, 10, 14, 16)
STAT = "cpu  9 0 9 9 0 0 0 0 0 0\ncpu0 9 0 9 9 0 0 0 0 0 0\n"


def grow(rng: random.Random, fields: list[int]) -> list[int]:
    after = list(fields)
    for count, merges, sectors, ms in ((0, 1, 2, 3), (4, 5, 6, 7), (11, 12, 13, 14)):
        requests = rng.choice([0, 1, rng.randrange(2000)])
        after[count] += requests
        after[merges] += rng.choice([0, rng.randrange(500)])
        after[sectors] += requests * rng.choice([1, 8, 256])
        after[ms] += requests * rng.randrange(30)
    after[8] = rng.randrange(5)
    after[9] += rng.randrange(1000)
    after[10] += rng.randrange(5000)
    flushes = rng.randrange(20)
    after[15] += flushes
    after[16] += flushes * rng.randrange(9)
    # These wrap in the kernel, too.
    return [value % 2**32 if place in MS_FIELDS else value for place, value in enumerate(after)]


def disk(rng: random.Random) -> list[int]:
    fields = [rng.randrange(10 ** rng.randrange(1, 10)) for _ in range(17)]
    for place in MS_FIELDS:
        fields[place] = rng.choice([fields[place] % 2**31, 2**32 - 1 - rng.randrange(5)])
    return fields


def host(folder: Path, seed: int) -> Host:
    rng = random.Random(seed)
    names = ["sda", "sdb", "sdc", "vda", "dm-0"]
    before = {name: disk(rng) for name in names}
    after = {name: grow(rng, fields) for name, fields in before.items()}
    before["idle"] = after["idle"] = disk(rng)
    before["never"] = after["never"] = [0] * 17
    before["gone"] = disk(rng)
    after["new"] = grow(rng, [0] * 17)
    interval_s = rng.choice([1.0, 0.37, 10.01])
    return Host(folder, Moment({"/proc/stat": STAT}, before), Moment({"/proc/stat": STAT}, after), interval_s)


def test_every_figure_is_iostats(tmp_path: Path) -> None:
    hosts = [host(tmp_path / str(seed), seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda one: one.run("iostat", "-x", "-z", "-k", "1", "2"), hosts))
    for one, text in zip(hosts, texts, strict=True):
        theirs = table(text, "aqu-sz")
        ours = {row["device"]: row for row in one.rows("SELECT * FROM disk_utilization")}
        # -z leaves out devices that did nothing.
        shown = {name for name, row in ours.items() if row["read_count"] or row["write_count"] or row["busy_ns"]}
        assert shown == set(theirs), text
        for device, wanted in theirs.items():
            got = {name: (ours[device][column] or 0) * scale for name, column, scale in COLUMNS}
            # iostat prints two digits: half a digit of rounding.
            figures = {name: float(wanted[name]) for name, _, _ in COLUMNS}
            assert got == pytest.approx(figures, abs=0.00501, rel=1e-12), f"{one.folder.name}: {device}"


SUMMARY = [
    ("r/s", "read_per_s", 1),
    ("rkB/s", "read_bytes_per_s", 1 / 1024),
    ("r_await", "read_await_ns", 1e-6),
    ("w/s", "write_per_s", 1),
    ("wkB/s", "write_bytes_per_s", 1 / 1024),
    ("w_await", "write_await_ns", 1e-6),
    ("aqu-sz", "queue_avg_count", 1),
    ("%util", "busy_ratio", 100),
]


def partly(rng: random.Random, before: list[int], after: list[int]) -> list[int]:
    """A moment between the two: reads, writes, discards and flushes have happened or not, each with their time."""
    groups = (range(4), range(4, 8), [8], [9], [10], range(11, 15), (15, 16))
    found = list(before)
    for group in groups:
        if rng.random() < 0.5:
            for place in group:
                found[place] = after[place]
    return found


def test_a_capture_of_several_intervals_is_one_of_iostats(tmp_path: Path) -> None:
    hosts = [host(tmp_path / str(seed), seed) for seed in range(20, 24)]
    rng = random.Random(1)
    for one in hosts:
        # One that comes or goes is seen in a part of the time only.
        names = one.before.disks.keys() & one.after.disks.keys()
        one.before.disks, one.after.disks = (
            {name: disks[name] for name in sorted(names)} for disks in (one.before.disks, one.after.disks)
        )
        now = {name: partly(rng, one.before.disks[name], one.after.disks[name]) for name in one.before.disks}
        one.between = [Moment({"/proc/stat": STAT}, now)]
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda one: one.run("iostat", "-x", "-z", "-k", "1", "2"), hosts))
    for one, text in zip(hosts, texts, strict=True):
        theirs = table(text, "aqu-sz")
        ours = {row["device"]: row for row in one.rows("SELECT * FROM disk_summary")}
        moved = {name for name in theirs if float(theirs[name]["r/s"]) or float(theirs[name]["w/s"])}
        assert set(ours) == moved, text
        for device in moved:
            got = {name: (ours[device][column] or 0) * scale for name, column, scale in SUMMARY}
            figures = {name: float(theirs[device][name]) for name, _, _ in SUMMARY}
            assert got == pytest.approx(figures, abs=0.00501, rel=1e-9), f"{one.folder.name}: {device}"

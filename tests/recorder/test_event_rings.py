"""`perfcase-helper events ring`: keeps the last events in memory of a given size, and knows whose they are."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfcase.case import query, store
from tests.recorder.events import COMM, EXIT, FORK, LOST, MMAP2, SAMPLE, Record, recording, records, wait_for
from tests.recorder.support import TRACEFS, parts
from tests.support.scale import scaled

needs_root = pytest.mark.skipif(TRACEFS is None or os.geteuid() != 0, reason="tracefs is not here, or not ours to use")

# Each switch tells its number by the name that the thread has then.
NUMBERED = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
number = 0
print("there", flush=True)
while True:
    number += 1
    libc.prctl(15, b"%d" % number, 0, 0, 0)
    time.sleep(0.0005)
"""
SHORT = """
import subprocess, sys
print("there", flush=True)
while True:
    subprocess.run(["/bin/true"])
"""


def saved(folder: Path, recorder: subprocess.Popen, number: int) -> Path:
    recorder.send_signal(signal.SIGUSR1)
    wait_for(folder / "ready", f"saved {number}\n", recorder)
    return folder / "perf.data"


def numbers(path: Path, target: int, case: Path) -> list[int]:
    """The numbers that the switches of the target have, in the order of time."""
    with query.connect(store.open_case(path, case).folder) as connection:
        rows = connection.execute(
            "SELECT prev_comm FROM sched_switch WHERE prev_pid = ? AND prev_state NOT IN (0, 256) ORDER BY ts_ns",
            [target],
        ).fetchall()
    return [int(name) for (name,) in rows]


@needs_root
def test_the_last_events_are_kept_without_a_hole(tmp_path: Path) -> None:
    """As many as the memory holds, up to the moment; and again later."""
    target = subprocess.Popen([sys.executable, "-c", NUMBERED], stdout=subprocess.PIPE, text=True)
    try:
        assert target.stdout.readline() == "there\n"
        # all of it on one CPU, whose ring is filled several times
        os.sched_setaffinity(target.pid, {min(os.sched_getaffinity(0))})
        with recording(tmp_path, target.pid, kind="ring", size=1, sampler="-") as recorder:
            kept = []
            for number in (1, 2):
                end = time.monotonic() + 60
                begin = int(Path(f"/proc/{target.pid}/comm").read_text())
                # a switch with its stack has 300 bytes and more, half a MB fewer than 1,800
                while int(Path(f"/proc/{target.pid}/comm").read_text()) < begin + 2500 and time.monotonic() < end:
                    time.sleep(0.1)
                path = saved(tmp_path, recorder, number)
                found = numbers(path, target.pid, tmp_path / f"{number}.case")
                # A machine that stands still for half a millisecond wakes the thread before it has switched: that
                # number has no switch. What a ring loses is several in a row.
                missing = sorted({*range(found[0], found[-1])} - {*found})
                assert len(missing) <= len(found) / 200
                assert not {*missing} & {number + 1 for number in missing}
                assert found == sorted({*found})
                assert found[0] > begin
                assert 20 < len(found) < 2500
                kept.append(found)
                assert path.stat().st_size < 3 << 20
        assert kept[1][0] > kept[0][-1]
        # and at its end
        assert numbers(tmp_path / "perf.data", target.pid, tmp_path / "3.case")[-1] >= kept[1][-1]
        assert (tmp_path / "ready").read_text() == "ready\nsaved 1\nsaved 2\nsaved 3\n"
        assert not (tmp_path / "perf.data.new").exists()
    finally:
        target.kill()
        target.wait()


@needs_root
def test_what_ended_long_ago_still_has_its_name(tmp_path: Path) -> None:
    """Short processes: each that has a sample has a beginning, and its program's name and mappings."""
    target = subprocess.Popen([sys.executable, "-c", SHORT], stdout=subprocess.PIPE, text=True)
    try:
        assert target.stdout.readline() == "there\n"
        with recording(tmp_path, target.pid, kind="ring", size=2) as recorder:
            time.sleep(1.5)
            found = records(saved(tmp_path, recorder, 1))
    finally:
        target.kill()
        target.wait()
    samples = {record.pid for record in found if record.kind == SAMPLE}
    assert len(samples) > 10
    # one that was there when the recording began has a name, and no beginning
    assert samples <= {record.tid for record in found if record.kind in (FORK, COMM)}
    named = {record.tid for record in found if record.kind == COMM and record.name == b"true"}
    mapped = {record.pid for record in found if record.kind == MMAP2 and record.name.endswith(b"true")}
    # whose whole life was seen: neither begun nor ended between two looks
    lives = {record.tid for record in found if record.kind == FORK and record.time_ns}
    lives &= {record.tid for record in found if record.kind == EXIT}
    assert len(lives & samples) > 10
    assert lives <= named
    assert lives <= mapped


def trailer(time_ns: int) -> bytes:
    return struct.pack("<IIQQQ", 0, 0, time_ns, 0, 1)


def made(kind: int, time_ns: int, *fields: int, name: bytes = b"") -> bytes:
    body = struct.pack(f"<{len(fields)}I", *fields) + name.ljust(-len(name) % 8 + len(name), b"\0") + trailer(time_ns)
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body


def side(folder: Path, most_bytes: int, stream: list[bytes]) -> tuple[list[Record], int]:
    """What is left of these records in a memory of this size, and how many were forgotten that may matter."""
    (folder / "in").write_bytes(b"".join(stream))
    words = [parts(), "side", str(most_bytes), folder / "in", folder / "out"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    data, at, left = (folder / "out").read_bytes(), 0, []
    assert len(data) <= most_bytes
    while at < len(data):
        kind, _misc, length = struct.unpack_from("<IHH", data, at)
        left.append(Record(kind, data[at + 8 : at + length]))
        at += length
    assert at == len(data)
    return left, int(done.stdout)


def test_those_that_ended_first_are_forgotten_first(tmp_path: Path) -> None:
    """A process that lives keeps what is known of it while thousands come and go."""
    stream = [made(COMM, 0, 7, 7, name=b"server"), made(MMAP2, 0, 7, 7, *[0] * 14, name=b"/bin/server")]
    for number in range(3000):
        pid, at = 100 + number, 1000 * number
        stream.append(made(FORK, at + 1, pid, 7, pid, 7, 0, 0))
        stream.append(made(COMM, at + 2, pid, pid, name=b"short"))
        stream.append(made(MMAP2, at + 3, pid, pid, *[0] * 14, name=b"/bin/short"))
        stream.append(made(EXIT, at + 4, pid, 7, pid, 7, 0, 0))
    left, forgotten = side(tmp_path, 100_000, stream)
    assert forgotten == 0
    assert [record.name for record in left if record.pid == 7] == [b"server", b"/bin/server"]
    kept = sorted({record.pid for record in left} - {7})
    assert kept == list(range(kept[0], 3100))
    # at least a quarter of the memory is in use
    assert len(kept) > 60
    # each with all that is known of it
    assert len(left) == 2 + 4 * len(kept)


def test_a_number_that_is_given_again_keeps_the_new_owner(tmp_path: Path) -> None:
    stream = []
    for number in range(500):
        stream += [
            made(FORK, 10 * number + 1, 9, 1, 9, 1, 0, 0),
            made(COMM, 10 * number + 2, 9, 9, name=b"%d" % number),
        ]
        if number < 499:
            stream.append(made(EXIT, 10 * number + 3, 9, 1, 9, 1, 0, 0))
    left, forgotten = side(tmp_path, 10_000, stream)
    assert forgotten == 0
    assert [record.kind for record in left[-2:]] == [FORK, COMM]
    assert left[-1].name == b"499"


def test_of_too_many_that_live_the_oldest_are_forgotten_and_counted(tmp_path: Path) -> None:
    stream = [made(COMM, number, number + 1, number + 1, name=b"lives") for number in range(1000)]
    stream.append(made(LOST, 1000, 0, 0, 5, 0))
    left, forgotten = side(tmp_path, 10_000, stream)
    pids = [record.pid for record in left if record.kind == COMM]
    assert pids == list(range(1001 - len(pids), 1001))
    assert forgotten == 1000 - len(pids) + 5


def test_any_order_of_any_lives_stays_within_its_memory(tmp_path: Path) -> None:
    """What lives at the end is known whenever nothing was counted as forgotten."""
    for seed in range(scaled(100)):
        chance = random.Random(seed)
        stream, living, at = [], {}, 0
        for _ in range(chance.randrange(2000)):
            at += 10
            if living and chance.random() < 0.5:
                pid = chance.choice(list(living))
                del living[pid]
                stream.append(made(EXIT, at, pid, 1, pid, 1, 0, 0))
            else:
                pid = chance.choice([number for number in range(2, 60) if number not in living] or [0])
                if pid:
                    living[pid] = b"%d" % at
                    pieces = [made(FORK, at, pid, 1, pid, 1, 0, 0), made(COMM, at + 1, pid, pid, name=living[pid])]
                    stream += pieces
        # two CPUs' rings are read one after the other
        for place in range(1, len(stream)):
            if chance.random() < 0.2:
                stream[place - 1], stream[place] = stream[place], stream[place - 1]
        left, forgotten = side(tmp_path, chance.choice([6_000, 20_000, 1 << 20]), stream)
        names = {}
        for record in sorted(left, key=lambda record: record.time_ns):
            if record.kind == COMM:
                names[record.pid] = record.name
        if not forgotten:
            assert {pid: names.get(pid) for pid in living} == living, seed

"""The proc_ tables, every row and column, against a naive reading of the recorded /proc files."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from perfcase.catalogue.schema import load_tables

STREAM = Path(__file__).parents[1] / "data" / "proc" / "snapshots.xz"
TICK_NS = 10_000_000  # 100 ticks a second
PAGE_BYTES = 4096


def files(stream: bytes) -> Iterator[tuple[int, int, str, str]]:
    """(snapshot, time, path, text) of each file."""
    at, snapshot = 0, -1
    while at < len(stream):
        end = stream.index(b"\n", at)
        words = stream[at:end].decode().split(" ", 3)
        at = end + 1
        if words[0] == "S":
            snapshot = int(words[3])
        elif words[0] == "F":
            length = int(words[2])
            yield snapshot, int(words[1]), words[3], stream[at : at + length].decode()
            at += length + 1


@pytest.fixture(scope="module")
def recorded() -> list[tuple[int, int, str, str]]:
    found = list(files(lzma.decompress(STREAM.read_bytes())))
    start = found[0][1]
    # A lone stream begins with its first record, the S line just before its first file.
    return [(snapshot, time - start, path, text) for snapshot, time, path, text in found]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("proc")
    (folder / "snapshots").write_bytes(lzma.decompress(STREAM.read_bytes()))
    with duckdb.connect(
        str(store.open_case(folder / "snapshots").folder / "case.duckdb"), read_only=True
    ) as connection:
        yield connection


def shift(case: duckdb.DuckDBPyConnection, recorded: list) -> int:
    """From the first file to the first record: all times of a table are later by this."""
    first = case.execute("SELECT min(ts_ns) FROM proc_cpu").fetchone()[0]
    return first - next(time for _, time, path, _ in recorded if path == "/proc/stat")


def test_cpu_times(case: duckdb.DuckDBPyConnection, recorded: list) -> None:
    moved = shift(case, recorded)
    assert 0 <= moved < 1_000_000
    wanted = [
        (snapshot, time + moved, int(name[3:]), *(int(word) * TICK_NS for word in words))
        for snapshot, time, path, text in recorded
        if path == "/proc/stat"
        for name, *words in map(str.split, text.splitlines())
        if re.fullmatch(r"cpu\d+", name)
    ]
    rows = case.execute(
        "SELECT snapshot, ts_ns, cpu, * EXCLUDE (snapshot, ts_ns, cpu, source_id) FROM proc_cpu"
    ).fetchall()
    assert rows == wanted
    assert len(rows) >= 10


def test_system_counters(case: duckdb.DuckDBPyConnection, recorded: list) -> None:
    names = ("intr", "softirq", "ctxt", "processes", "procs_running", "procs_blocked")
    wanted = []
    for snapshot, _, path, text in recorded:
        if path == "/proc/stat":
            lines = {line.split()[0]: int(line.split()[1]) for line in text.splitlines()}
            wanted.append((snapshot, *(lines[name] for name in names)))
    assert case.execute("SELECT * EXCLUDE (ts_ns, source_id) FROM proc_system").fetchall() == wanted


def test_load_averages(case: duckdb.DuckDBPyConnection, recorded: list) -> None:
    wanted = []
    for snapshot, _, path, text in recorded:
        if path == "/proc/loadavg":
            one, five, fifteen, threads, last = text.split()
            wanted.append((snapshot, float(one), float(five), float(fifteen), *map(int, threads.split("/")), int(last)))
    assert case.execute("SELECT * EXCLUDE (ts_ns, source_id) FROM proc_load").fetchall() == wanted


def test_memory(case: duckdb.DuckDBPyConnection, recorded: list) -> None:
    """The column of each line is the one whose description names it."""
    described = case.execute("SELECT * FROM proc_memory LIMIT 0").description
    names = {
        column.name: re.search(r"\(([^ ]*)\)\.$", column.description) for column in load_tables()["proc_memory"].columns
    }
    rows = case.execute("SELECT * FROM proc_memory ORDER BY snapshot").fetchall()
    texts = [(snapshot, text) for snapshot, _, path, text in recorded if path == "/proc/meminfo"]
    assert len(rows) == len(texts)
    for row, (snapshot, text) in zip(rows, texts, strict=True):
        cells = dict(zip((column[0] for column in described), row, strict=True))
        assert cells["snapshot"] == snapshot
        lines = dict(re.findall(r"^(\S+): +(\d+)", text, re.MULTILINE))
        kilo = set(re.findall(r"^(\S+): +\d+ kB", text, re.MULTILINE))
        known = {match[1] for match in names.values() if match}
        assert set(lines) <= known, "every line has a column"
        for column, match in names.items():
            if match:
                value = lines.get(match[1])
                assert cells[column] == (value and int(value) * (1024 if match[1] in kilo else 1)), column


def test_threads(case: duckdb.DuckDBPyConnection, recorded: list) -> None:
    stats, statuses = {}, {}
    for snapshot, _, path, text in recorded:
        match = re.fullmatch(r"/proc/(\d+)/task/(\d+)/(stat|status)", path)
        if match:
            key = (snapshot, int(match[1]), int(match[2]))
            (stats if match[3] == "stat" else statuses)[key] = text
    wanted = []
    for key, text in stats.items():
        head, tail = text.rsplit(")", 1)
        f = ["", "", *tail.split()]  # f[2] is the state: field 3 of proc_pid_stat(5)
        status = dict(re.findall(r"^(\w+):\s*(.*)$", statuses.get(key, ""), re.MULTILINE))
        kilobytes = [int(status[n].split()[0]) * 1024 if n in status else None for n in ("VmHWM", "RssAnon", "VmSwap")]
        switches = [int(status[f"{n}_ctxt_switches"]) if status else None for n in ("voluntary", "nonvoluntary")]
        wanted.append((
            *key, head.split("(", 1)[1], f[2], int(f[3]), int(f[13]) * TICK_NS, int(f[14]) * TICK_NS, int(f[9]), int(f[11]),
            int(f[17]), int(f[18]), int(f[19]), int(f[21]) * TICK_NS, int(f[22]), int(f[23]) * PAGE_BYTES, int(f[38]),
            int(f[39]), int(f[40]), int(f[41]) * TICK_NS, *switches, *kilobytes,
        ))  # fmt: skip
    rows = case.execute(
        "SELECT snapshot, pid, tid, comm, state, parent_pid, user_ns, system_ns, minor_fault_count, major_fault_count,"
        " priority, nice, thread_count, start_boottime_ns, virtual_bytes, resident_bytes, cpu, realtime_priority, policy,"
        " block_delay_ns, voluntary_switch_count, involuntary_switch_count, resident_peak_bytes, resident_anon_bytes,"
        " swap_bytes FROM proc_thread"
    ).fetchall()
    assert sorted(rows) == sorted(wanted)
    assert len(rows) > 300


def test_a_thread_has_one_key_in_all_snapshots(case: duckdb.DuckDBPyConnection) -> None:
    keys = case.execute(
        "SELECT count(DISTINCT utid), count(DISTINCT (tid, start_boottime_ns)) FROM proc_thread"
    ).fetchone()
    assert keys[0] == keys[1] > 50
    names = case.execute(
        "SELECT count(*) FROM proc_thread AS p JOIN thread AS t USING (utid) WHERE p.tid <> t.tid"
    ).fetchone()
    assert names == (0,)

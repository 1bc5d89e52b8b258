"""The sampler of /proc on a host with 4,096 CPUs and 50,000 threads: all of it is there, and later snapshots have what can change."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

from perfcase.case import store
from tests.recorder import large_proc
from tests.recorder.support import ROOT, helper, in_own_mounts, parse_snapshots
from tests.support.scale import SCALE

# The quick run is the same with a hundredth of it.
PROCESSES, THREADS, CPUS = (500, 50_000, 4_096) if SCALE >= 1 else (20, 500, 64)
SNAPSHOTS = 6
FILES_OF_THREAD, FILES_OF_PROCESS = 5, 2
# What the sampler keeps of each thread, and of each of the largest files that it copies.
BYTES_OF_THREAD, BYTES_OF_SAMPLER = 1_000, 48 << 20


def test_a_large_host(tmp_path: Path) -> None:
    out = tmp_path / "snapshots"
    (tmp_path / "proc").mkdir()
    words = [tmp_path / "proc", PROCESSES, THREADS, CPUS, helper(), ROOT / "recorder" / "proc.list", out, SNAPSHOTS]
    done = in_own_mounts('exec "$@"', sys.executable, large_proc.__file__, *map(str, words), timeout=500)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == 0
    assert told["max_rss_bytes"] < BYTES_OF_SAMPLER + THREADS * BYTES_OF_THREAD
    first, *others = parse_snapshots(out.read_bytes())
    assert len(others) >= SNAPSHOTS - 1
    assert all(snapshot.is_complete for snapshot in (first, *others))
    of_threads = {path for path in first.files if "/task/" in path}
    assert len(of_threads) == THREADS * FILES_OF_THREAD
    of_host = {
        path: len(data) for path, data in first.files.items() if path.count("/") < 3 or not path.split("/")[2].isdigit()
    }
    assert {"/proc/stat", "/proc/interrupts"} <= set(of_host)
    assert first.files["/proc/stat"].count(b"\ncpu") == CPUS
    # All sleep: of each only whether it ran, of a quarter its state, all of the main threads.
    most = THREADS + THREADS // 4 + PROCESSES * (FILES_OF_THREAD + FILES_OF_PROCESS) + len(of_host)
    for snapshot in others[:-1]:
        assert {path for path in snapshot.files if path.endswith("/schedstat") and "/task/" in path} == {
            path for path in of_threads if path.endswith("/schedstat")
        }
        assert len(snapshot.files) <= most
    case = store.open_case(out, tmp_path / "x.case")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        issues = connection.execute("SELECT kind FROM import_issue WHERE severity <> 'info'").fetchall()
        threads = connection.execute("SELECT count(*), count(DISTINCT pid) FROM thread WHERE tid > 0").fetchone()
        cpus = connection.execute("SELECT count(DISTINCT cpu) FROM proc_cpu").fetchone()
        interrupts = connection.execute("SELECT count(*) FROM proc_interrupt").fetchone()
    # Nothing but the host's files, which this has none of, tells that.
    assert issues == [("page_size_unknown",)]
    assert threads == (THREADS, PROCESSES)
    assert cpus == (CPUS,)
    assert interrupts == (large_proc.INTERRUPTS * CPUS * (1 + len(others)),)

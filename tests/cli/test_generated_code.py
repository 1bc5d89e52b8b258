"""Names of generated code from files that lie beside a bare recording or in a directory of the user: perf-PID.map, jit-PID.dump."""

from __future__ import annotations

import gzip
import struct
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from perfcase.case import query, store
from tests.cli.test_code_over_time import NAMES, USER, mmap, perf_data, sample


def names_of(file: Path, debug_dirs: Sequence[Path] = ()) -> list[tuple]:
    with query.connect(store.open_case(file, debug_dirs=debug_dirs).folder) as connection:
        return connection.execute(NAMES).fetchall()


def jitdump(pid: int, *loads: tuple[int, int, int, str]) -> bytes:
    """Time, start, size, name of each function."""
    out = struct.pack("<6IQQ", 0x4A695444, 1, 40, 62, 0, pid, 0, 0)
    for time, start, size, name in loads:
        body = struct.pack("<IIQQQQ", pid, pid, start, start, size, 1) + name.encode() + b"\0" + bytes(size)
        out += struct.pack("<IIQ", 0, 16 + len(body), time) + body
    return out


START = 0x7F00_0000_0000
RUNTIME = [
    mmap("//anon", START, 0x1000, 0, 5, 100),
    sample(USER, START + 0x20, 5, 150),
    sample(USER, START + 0x20, 5, 250),
    sample(USER, START + 0x90, 5, 260),
]


@pytest.mark.parametrize("place", ["beside", "folder", "debug-dir", "later", "imported"])
def test_a_perf_map_that_lies_about_names_generated_code(place: str, tmp_path: Path) -> None:
    recording = tmp_path / "capture" / "perf.data"
    recording.parent.mkdir()
    (tmp_path / "dir" / "tmp").mkdir(parents=True)
    text = f"{START:x} 40 LFive;::run\n"
    map_of = {"debug-dir": tmp_path / "dir/tmp/perf-5.map", "imported": tmp_path / "dir/perf-5.map"}
    path = map_of.get(place, recording.parent / "perf-5.map")
    dirs = [tmp_path / "dir"] if place in map_of else []
    # The map of a process that was not recorded.
    (recording.parent / "perf-77.map").write_text(text)
    recording.write_bytes(perf_data(*RUNTIME))
    if place in ("later", "imported"):
        assert [row[0] for row in names_of(recording)] == [None, None, None]
        assert store.open_case(recording).reused
    path.write_text(text)
    expected = [("LFive;::run", 0x20, None)] * 2 + [(None, None, "no symbol covers the address")]
    if place == "imported":
        expected[2] = (None, None, "file not in capture")
        case, _ = store.symbolize(store.open_case(recording), dirs)
        with query.connect(case.folder) as connection:
            assert connection.execute(NAMES).fetchall() == expected
            told = connection.execute("SELECT symbols FROM dso WHERE kind = 'anon'").fetchall()
            assert told == [(str(path),)]
        return
    assert names_of(recording.parent if place == "folder" else recording, dirs) == expected


@pytest.mark.parametrize("place", ["beside", "debug-dir"])
@pytest.mark.parametrize("clock", ["monotonic", "perf"])
def test_a_jitdump_that_lies_about_names_code_at_its_moment(place: str, clock: str, tmp_path: Path) -> None:
    recording = tmp_path / "capture" / "perf.data"
    agent = tmp_path / "dir" / ".debug" / "jit" / "java-jit-20260101.abc"
    for folder in (recording.parent, agent):
        folder.mkdir(parents=True)
    folder = recording.parent if place == "beside" else agent
    loads = [(120, START, 0x40, "first"), (200, START, 0x40, "second")]
    (folder / "jit-5.dump").write_bytes(jitdump(5, *loads))
    # The dump of a process that was not recorded: if its times compare with the capture's, it makes no rows.
    (folder / "jit-77.dump").write_bytes(jitdump(77, *loads))
    recording.write_bytes(perf_data(*RUNTIME, clock_id=1 if clock == "monotonic" else None))
    names = [row[0] for row in names_of(recording, [tmp_path / "dir"])]
    # By another clock nobody knows when: the last one counts.
    assert names == ["first" if clock == "monotonic" else "second", "second", None]
    with query.connect(store.open_case(recording, debug_dirs=[tmp_path / "dir"]).folder) as connection:
        pids = [pid for (pid,) in connection.execute("SELECT pid FROM process ORDER BY pid").fetchall()]
        assert pids == ([0, 5] if clock == "monotonic" else [0, 5, 77])
        issues = connection.execute("SELECT kind FROM import_issue").fetchall()
        assert issues == ([] if clock == "monotonic" else [("jitdump",)] * 2)


@pytest.mark.parametrize("name", ["java", "jit"])
def test_real_runtimes_have_the_same_names_from_files_beside_their_recording(name: str, tmp_path: Path) -> None:
    """A Java with a perf map, and one that writes a jitdump."""
    bundle = Path("tests/data/symbols") / f"{name}.perfcase"
    with tarfile.open(bundle) as tar:
        tar.extractall(tmp_path / "all", filter="data")
    every = {
        path.relative_to(tmp_path / "all").as_posix(): path for path in (tmp_path / "all").rglob("*") if path.is_file()
    }
    capture = tmp_path / "capture"
    capture.mkdir()
    for path, file in every.items():
        inner = path.removesuffix(".gz")
        data = gzip.decompress(file.read_bytes()) if path.endswith(".gz") else file.read_bytes()
        if inner == "perf/perf.data":
            (capture / "perf.data").write_bytes(data)
        elif inner.startswith("symbols/perf-map/"):
            (capture / f"perf-{inner.rsplit('/', 1)[1]}.map").write_bytes(data)
        elif inner.startswith("symbols/jitdump/"):
            (capture / f"jit-{inner.rsplit('/', 1)[1].split('-')[0]}.dump").write_bytes(data)
    source = "'perf-map'" if name == "java" else "'jitdump'"
    sql = f"SELECT address, symbol, symbol_offset_bytes FROM frame WHERE symbol_source = {source} ORDER BY ALL"
    rows = []
    for file in (bundle, capture / "perf.data"):
        with query.connect(store.open_case(file, tmp_path / f"{file.name}.case").folder) as connection:
            rows.append(connection.execute(sql).fetchall())
    assert rows[0] == rows[1]
    assert len(rows[1]) >= 5

"""perfcase export: every table and view as files, what is said of what is lost, hostile names, errors."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.catalogue.views import load_views
from perfcase.export.tables import EXPANDED
from tests.oracles.captures import DATA
from tests.support.cli import fail, perfcase
from tests.support.fakecase import make_case
from tests.support.imports import imported

HOSTILE = 'a;b\n"c" \x1b[2J</script>\u202e'


@pytest.fixture(scope="module")
def small() -> Path:
    return imported(DATA / "x86_64" / "hw-cycles.data.xz").folder


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = {
        "thread": [{"utid": 1, "tid": 10, "pid": 10, "comm": HOSTILE}, {"utid": 2, "tid": 11, "comm": ""}],
        "perf_event": [{"event_id": 0, "name": "cycles", "is_tracepoint": False}],
        "frame": [
            {"frame_id": 0, "address": 1, "is_kernel": False, "is_inlined": False, "symbol": HOSTILE},
            {"frame_id": 1, "address": 2, "is_kernel": True, "is_inlined": False, "symbol": ""},
        ],
        "stack": [{"stack_id": 0, "frame_ids": [1, 0]}],
        "sample": [
            {"sample_id": 0, "ts_ns": 5, "utid": 1, "event_id": 0, "period": 7, "cpu_mode": 1, "stack_id": 0},
            {"sample_id": 1, "utid": 2, "event_id": 0, "period": 0, "cpu_mode": 2, "frame_id": 0},
            {"sample_id": 2, "ts_ns": 9, "utid": None, "event_id": 0, "cpu_mode": 2, "frame_id": 1},
            {"sample_id": 3, "ts_ns": 9, "utid": 1, "event_id": 0, "period": 100, "cpu_mode": 2},
        ],
    }
    return make_case(tmp_path_factory.mktemp("hostile") / "x.case", rows)


def test_hostile_names_break_no_format(hostile: Path) -> None:
    name = 'a:b\\n"c" \\e[2J</script>\\u202e'
    done = perfcase("export", hostile, "--to", "folded")
    assert done.stdout == f"[unknown];[empty] 1\n{name};{name};[empty] 7\n"
    assert done.stderr.startswith(
        "perfcase: not in the folded export: everything except samples (perfetto has calls, waits and"
    )
    assert done.stderr.splitlines()[1:] == [
        "perfcase: not in the folded export: 1 sample without an address or a callchain",
        "perfcase: not in the folded export: 1 callchain of weight 0",
    ]
    done = perfcase("export", hostile, "--to", "speedscope")
    profile = json.loads(done.stdout)
    assert [frame["name"] for frame in profile["shared"]["frames"]] == [HOSTILE, ""]
    assert [(t["name"], t["unit"], t["samples"], t["weights"]) for t in profile["profiles"]] == [
        (f"{HOSTILE} (tid 10)", "none", [[0, 1]], [7]),
        ("[unknown] (tid 11)", "none", [[0]], [0]),
        ("[unknown] (tid -1)", "none", [[1]], [1]),
    ]
    assert "the order of 1 sample: the recording has no times" in done.stderr
    shared = json.loads(perfcase("export", hostile, "--to", "firefox").stdout)["shared"]
    assert shared["stringArray"] == [HOSTILE, ""]


def test_a_name_that_ends_in_a_number_is_no_weight(tmp_path: Path) -> None:
    """From two numbers at the end inferno and flamegraph.pl make the difference of two profiles."""
    rows = {
        "thread": [{"utid": 1, "tid": 10, "pid": 10, "comm": "worker 12"}],
        "perf_event": [{"event_id": 0, "name": "cycles", "is_tracepoint": False}],
        "frame": [
            {"frame_id": n, "address": n, "is_kernel": False, "is_inlined": False, "symbol": name}
            for n, name in enumerate(("page 4", "scan  1.5", "f 2 g"))
        ],
        "sample": [
            {"sample_id": n, "ts_ns": n, "utid": 1, "event_id": 0, "period": 7 - n, "cpu_mode": 2, "frame_id": n}
            for n in range(3)
        ] + [{"sample_id": 3, "ts_ns": 3, "utid": 1, "event_id": 0, "period": 0, "cpu_mode": 2, "frame_id": 2}],
    }  # fmt: skip
    case = make_case(tmp_path / "x.case", rows)
    done = perfcase("export", case, "--to", "folded", "-o", "-")
    assert done.stdout == "worker 12;f 2 g 5\nworker 12;page_4 7\nworker 12;scan_1.5 6\n"
    assert "of weight 0" not in done.stderr
    done = perfcase("export", case, "--to", "folded", "--where", "period = 0")
    assert (done.stdout, done.stderr.splitlines()[1:]) == (
        "", ["perfcase: not in the folded export: 1 callchain of weight 0"]
    )  # fmt: skip


def test_switches_without_a_cpu_or_a_thread_are_told(tmp_path: Path) -> None:
    rows = {
        "source": [{"source_id": 0, "name": "x", "kind": "perf_script", "is_timeline": True}],
        "sched_switch": [
            {"ts_ns": 5, "source_id": 0, "prev_pid": 1, "next_pid": 2},
            {"ts_ns": 6, "source_id": 0, "cpu": 0, "prev_pid": 1},
            {"ts_ns": 7, "source_id": 0, "cpu": 0, "prev_pid": 1, "next_pid": 2},
        ],
    }
    done = perfcase("export", make_case(tmp_path / "x.case", rows), "--to", "perfetto", "-o", tmp_path / "x")
    assert done.returncode == 0
    assert "perfetto export: 2 scheduler events without a time, a CPU or a thread\n" in done.stderr


def test_pprof_and_perfetto_take_hostile_names(hostile: Path, tmp_path: Path) -> None:
    for target in ("pprof", "perfetto"):
        done = perfcase("export", hostile, "--to", target, "-o", tmp_path / target)
        assert done.returncode == 0
    # What the last one, the perfetto export, said.
    assert "the unknown thread of 1 sample: thread 0 stands for it" in done.stderr
    assert "perfetto export: 1 sample without a time\n" in done.stderr
    assert HOSTILE.encode() in gzip.decompress((tmp_path / "pprof").read_bytes())
    assert HOSTILE.encode() in (tmp_path / "perfetto").read_bytes()


def test_every_table_and_view(small: Path, tmp_path: Path) -> None:
    done = perfcase("export", small, "--to", "parquet", "-o", tmp_path / "p")
    assert (done.returncode, done.stdout) == (0, "")
    left_out = ", ".join(EXPANDED)
    assert (
        f"parquet export: {left_out}: every path from every function, many times the size of the rest; --view"
        in done.stderr
    )
    help_text = " ".join(re.sub("[│╭╰─╮╯]", " ", perfcase("export", "--help").stdout).split())
    assert all(name in help_text for name in EXPANDED)
    with query.connect(small) as connection, duckdb.connect() as files_read:
        known = {r[0] for r in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()}
        files = {path.stem: path for path in (tmp_path / "p").rglob("*.parquet")}
        assert files.keys() == known - set(EXPANDED)
        # The rows of all tables and of some views: to compute every view twice takes long.
        compared = [
            name for name in files if name not in load_views() or name in ("call_tree", "thread_time", "data_quality")
        ]
        for name, path in files.items():
            assert path.parent.name == ("views" if name in load_views() else "tables")
        for name in compared:
            ours = files_read.sql(f"FROM '{files[name]}'")
            theirs = connection.execute(f'FROM "{name}"')
            assert ours.columns == [column[0] for column in theirs.description]
            assert sorted(map(repr, ours.fetchall())) == sorted(map(repr, theirs.fetchall())), name


def test_csv_of_chosen_views(small: Path, tmp_path: Path) -> None:
    done = perfcase(
        "export", small, "--to", "csv", "-o", tmp_path / "c", "--view", "function_profile", "--view", "thread"
    )
    assert done.stderr == (
        "perfcase: not in the csv export: types of columns: CSV has none; unknown is an empty field, lists are JSON\n"
    )
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.csv")) == [
        "c/tables/thread.csv", "c/views/function_profile.csv",
    ]  # fmt: skip
    with (tmp_path / "c/views/function_profile.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with query.connect(small) as connection:
        theirs = connection.execute(
            "SELECT symbol, self_count::VARCHAR, total_period::VARCHAR FROM function_profile"
        ).fetchall()
    assert sorted((row["symbol"], row["self_count"], row["total_period"]) for row in rows) == sorted(theirs)


def test_errors(small: Path, hostile: Path, tmp_path: Path) -> None:
    assert "name a folder with -o" in fail(2, "export", small, "--to", "csv")
    assert "--view is for csv" in fail(2, "export", small, "--to", "folded", "--view", "thread")
    assert "csv and parquet take --view" in fail(2, "export", small, "--to", "csv", "-o", tmp_path, "--event", "cycles")
    assert "there is no view nonsense" in fail(6, "export", small, "--to", "csv", "-o", tmp_path, "--view", "nonsense")
    assert "samples are of" in fail(6, "export", small, "--to", "folded", "--event", "nonsense")
    assert fail(5, "export", small, "--to", "pprof", "-o", tmp_path / "x", "--where", "nonsense")
    assert "cannot be written" in fail(8, "export", small, "--to", "folded", "-o", tmp_path / "no" / "x")
    assert list(tmp_path.iterdir()) == []
    empty = make_case(tmp_path / "empty.case", {})
    assert "the capture has no samples" in fail(6, "export", empty, "--to", "folded")
    assert perfcase("export", empty, "--to", "perfetto", "-o", tmp_path / "x").returncode == 0

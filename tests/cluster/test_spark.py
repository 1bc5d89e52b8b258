"""A real cluster on loopback, of one master and two workers: its rows are DuckDB's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfcase.case import query
from perfcase.catalogue.schema import quote
from perfcase.catalogue.views import load_views, with_dependencies
from perfcase.cluster.relations import KEPT, Relations, not_portable
from perfcase.cluster.spark import connected
from perfcase.fleet.captures import load
from tests.support import cluster
from tests.support.alike import counted
from tests.support.cli import perfcase, process
from tests.support.imports import SAMPLES, placed

SOME = (
    "process_name", "thread_time", "off_cpu_by_thread", "recorded_span", "page_cache", "tcp_latency", "irq_time", "run_queue_latency_by_thread",
    "stack_entry", "blame_part", "lock_wait",
)  # fmt: skip
"""Views with what Spark lacks or has otherwise: ASOF joins, aggregates of all rows, lists in an order, windows, texts of numbers."""
CAPTURES = ("d-nagle/tcp", "b-false-sharing/shared")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name Spark could take for a pattern, with two captures; one of them in a folder of its own."""
    folder = tmp_path_factory.mktemp("store") / "of [2026] 50% a+b é"
    for name in CAPTURES:
        placed(SAMPLES / f"{name}.perfcase", folder / name.partition("/")[0])
    return folder


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, cluster.running(tmp_path_factory.mktemp("cluster")) as url:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        yield url


def differing(relations: Relations, folders: dict[str, Path], names: list[str]) -> dict[tuple[str, str], object]:
    """The views whose rows of a capture are not DuckDB's, with a row of each side that the other does not have."""
    found: dict[tuple[str, str], object] = {}
    for name in names:
        try:
            rows = relations.ask(f"SELECT * FROM {quote(name)}").to_pylist()
        except Exception as error:  # whatever Spark says: the other views are asked all the same
            found[name, "all"] = str(error).splitlines()[:12]
            continue
        for capture, folder in folders.items():
            with query.connect(folder) as one:
                answer = one.execute(f"SELECT * FROM {quote(name)}")
                columns = [column for column, *_ in answer.description]
                alone = counted(answer.fetchall())
            there = counted([row[column] for column in columns] for row in rows if row["capture"] == capture)
            if there != alone:
                found[name, capture] = [*(alone - there)][:1], [*(there - alone)][:1]
    return found


@pytest.mark.long
def test_views_on_the_cluster_have_the_rows_of_duckdb(store: Path, master: str) -> None:
    captures = load([store]).captures
    with connected(master) as session:
        names = list(SOME)
        assert differing(Relations(session, captures), {each.name: each.folder for each in captures}, names) == {}


@pytest.mark.long
def test_a_format_writes_what_duckdb_writes(store: Path, master: str) -> None:
    sql = (
        "SELECT format('{:x} {} {:x} {:d} {:05d} {:04x} {:.2f} {:6.1f} 100% {{}}', 18446744073709551615::UBIGINT,"
        " 18446744073709551615::UBIGINT, 255, 7, 42, 255, 1.25::DOUBLE, 2.75::DOUBLE) AS text, format('{:x}', NULL::UBIGINT) AS none"
    )
    captures = load([store]).captures
    with connected(master) as session:
        rows = Relations(session, captures).ask(sql).to_pylist()
    with query.connect(captures[0].folder) as one:
        alone = one.execute(sql).fetchall()
    assert [(row["text"], row["none"]) for row in rows] == alone * len(captures)


@pytest.mark.long
def test_every_portable_view_has_the_rows_of_duckdb(tmp_path: Path, master: str) -> None:
    for sample in ("d-nagle/tcp", "aarch64-counters/x", "e-page-cache/larger", "d-leak/sessions"):
        placed(SAMPLES / f"{sample}.perfcase", tmp_path / sample.partition("/")[0])
    captures = load([tmp_path]).captures
    names = [name for name in load_views() if name not in not_portable() and name not in KEPT]
    with connected(master) as session:
        assert differing(Relations(session, captures), {each.name: each.folder for each in captures}, names) == {}


def test_four_of_five_views_are_portable() -> None:
    assert set(not_portable()) <= set(load_views())
    assert len(not_portable()) <= 0.2 * len(load_views())
    for name in load_views().keys() - {*not_portable(), *KEPT}:
        assert not not_portable().keys() & with_dependencies(load_views(), [name]).keys(), name


@pytest.mark.parametrize("where", ["local[2]", pytest.param("master", marks=pytest.mark.long("30 s"))])
def test_a_view_of_each_capture(where: str, store: Path, request: pytest.FixtureRequest) -> None:
    """One process of Java; in the long tier a cluster of four, which start first."""
    url = request.getfixturevalue("master") if where == "master" else where
    view = json.loads(perfcase("fleet", "view", "thread_time", store, "--master", url, "-f", "json").stdout)
    for capture in ("d-nagle/tcp.perfcase", "b-false-sharing/shared.perfcase"):
        alone = json.loads(perfcase("view", "thread_time", store / capture, "-f", "json").stdout)
        of_it = [{**row} for row in view if row["capture"] == capture]
        for row in of_it:
            del row["capture"]
        assert counted(row.items() for row in of_it) == counted(row.items() for row in alone)


@pytest.mark.long
def test_the_other_commands(store: Path, master: str, tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "d-nagle" / "pipe.perfcase", tmp_path)
    done = perfcase("fleet", "import", tmp_path, "--master", master, "--format", "json")
    assert [(row["capture"], row["exit_code"]) for row in json.loads(done.stdout)] == [("pipe.perfcase", 0)], (
        done.stderr
    )
    assert (tmp_path / "pipe.case" / "tables" / "syscall.parquet").exists()

    words = ("--view", "thread_time", "-m", "on_cpu_ns", "-f", "json")
    figures = [
        json.loads(perfcase(*command, store, *words).stdout)
        for command in (("history",), ("fleet", "history", "--master", master))
    ]
    assert counted(row.items() for row in figures[0]) == counted(row.items() for row in figures[1])

    first = "regexp_replace('1:0:0:2:0:0:3', '(^|:)0:0(:|$)', '::')"
    each = f"SELECT {first} AS one, regexp_replace('a$b$', '(b)', '[\\1$]', 'g') AS every FROM capture"
    done = perfcase("fleet", "sql", each, store, "--master", master, "-f", "csv")
    assert done.stdout.splitlines()[1:] == [
        f"{name},1::2:0:0:3,a$[b$]$" for name in ("d-nagle/tcp.perfcase", "b-false-sharing/shared.perfcase")
    ]

    sql = "SELECT comm, count(*) AS many FROM thread WHERE comm LIKE 'order%' GROUP BY ALL ORDER BY comm"
    done = perfcase("fleet", "sql", sql, store, "--master", master, "-f", "csv")
    assert done.stdout.splitlines()[0] == "capture,comm,many", done.stderr
    assert "d-nagle/tcp.perfcase,order-client,1" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT reflect('java.lang.System', 'getenv', 'HOME') FROM thread", "reflect"),
        ("SELECT * FROM parquet.`/etc/passwd`", "SQL"),
        ('SELECT * FROM csv."/etc/passwd"', "name a table or view"),
        ("SELECT * FROM read_text('/etc/passwd')", "read_text"),
        ("SELECT * FROM '/etc/passwd'", "no view"),
        ("SELECT 1; SELECT 2", "one SELECT"),
        ("SELECT quantile_cont(tid, 0.5) FROM thread", "percentile_cont"),
        ("SELECT log(tid) FROM thread", "log of one number"),
        ("SELECT regexp_matches(comm, 'A', 'i') FROM thread", "letters of regexp_matches"),
        ("SELECT DISTINCT comm FROM thread LIMIT 1", "LIMIT beside DISTINCT"),
        ("DROP TABLE thread", "one SELECT"),
        ("SELECT input_file_name() FROM thread", "input_file_name"),
    ],
)
def test_sql_of_a_user_reads_captures_only(sql: str, said: str, store: Path) -> None:
    done = perfcase("fleet", "sql", sql, store)
    assert done.returncode != 0
    assert said in done.stderr
    assert "root:" not in done.stdout + done.stderr


def test_no_cluster(store: Path, tmp_path: Path) -> None:
    done = perfcase("fleet", "view", "thread_time", store, "--master", "head:7077")
    assert (done.returncode, done.stderr) == (
        2,
        "perfcase: --master head:7077: not a cluster (spark://HOST:PORT, local[4] or local[*])\n",
    )
    for program in ("bash", "dirname", "ps"):
        (tmp_path / program).symlink_to(shutil.which(program))
    done = process("fleet", "view", "thread_time", store, PATH=str(tmp_path), JAVA_HOME="")
    assert done.returncode == 8
    assert "there is no Java (pip install" in done.stderr

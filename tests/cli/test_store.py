"""Importing: once, whole or not at all, even if others import at the same time, wherever it can be written."""

from __future__ import annotations

import json
import lzma
import operator
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from perfcase.case import database, store
from tests.support.cli import PERFCASE, fail, perfcase, succeed
from tests.support.fakecase import make_case
from tests.support.scale import SCALE

CAPTURE = "aarch64/trace-v7-zstd.dat"
ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "diff"
Recorded = Callable[[str], Path]


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, with the template that all others are made from: to make that takes seconds."""
    template, folder = database.template(), tmp_path / "cache" / "perfcase"
    folder.mkdir(parents=True)
    shutil.copy(template, folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent))
    return folder


def test_the_import_lies_beside_the_file(recorded: Recorded) -> None:
    file = recorded(CAPTURE)
    told = succeed("import", file, "--tables-only")
    case = file.parent / "trace-v7-zstd.dat.case"
    assert listing(file.parent) == [file.name, case.name]
    assert listing(case) == ["case.duckdb", "import.json", "tables"]
    info = json.loads((case / "import.json").read_text())
    assert {path.stem for path in (case / "tables").iterdir()} == set(info["tables"])
    assert f"{case}: {sum(info['tables'].values()):,} rows, imported in" in told


@pytest.mark.parametrize(("rights", "folder"), [(0o600, 0o700), (0o640, 0o750), (0o644, 0o755), (0o400, 0o700)])
def test_nobody_else_may_read_what_is_made_of_a_capture(recorded: Recorded, rights: int, folder: int) -> None:
    file = recorded(CAPTURE)
    case = file.with_name(f"{file.name}.case")
    file.chmod(rights)
    before = os.umask(0o022)
    try:
        succeed("import", "--tables-only", file)
    finally:
        os.umask(before)
    assert case.stat().st_mode & 0o777 == folder


def test_the_same_file_is_imported_once(recorded: Recorded) -> None:
    file = recorded(CAPTURE)
    first = store.open_case(file)
    marked = (first.folder / "tables" / "thread.parquet").stat().st_ino
    again = store.open_case(file)
    assert (first.reused, again.reused) == (False, True)
    os.utime(file)  # touched, the same content
    assert store.open_case(file).reused
    assert (first.folder / "tables" / "thread.parquet").stat().st_ino == marked
    assert "imported before" in succeed("import", "--tables-only", file)
    assert not store.open_case(file, force=True).reused


def test_another_content_is_imported_again(recorded: Recorded) -> None:
    file = recorded(CAPTURE)
    first = store.open_case(file)
    file.write_bytes(recorded("x86_64/trace-v6.dat").read_bytes())
    second = store.open_case(file)
    assert not second.reused
    assert second.info["source"]["capture_id"] != first.info["source"]["capture_id"]


def test_another_build_of_the_importer_imports_again(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    file = recorded(CAPTURE)
    assert perfcase("view", "capture", file).stderr == ""
    assert store.open_case(file).reused
    monkeypatch.setattr(store, "importer_id", lambda: "another")
    said = "perfcase: {}: another build of perfcase imported it, so it was imported again\n"
    assert perfcase("view", "capture", file).stderr == said.format(file.name)
    assert perfcase("view", "capture", file).stderr == ""


def test_new_views_reach_an_old_import(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    file = recorded(CAPTURE)
    folder = store.open_case(file).folder
    before = (folder / "case.duckdb").stat().st_ino
    monkeypatch.setattr(database, "views_hash", lambda: "another")
    said = "perfcase: {}: its views are of another perfcase, so the findings and the report are worked out again\n"
    assert perfcase("view", "capture", folder).stderr == said.format(folder.name)
    assert perfcase("view", "capture", folder).stderr == ""
    assert (folder / "case.duckdb").stat().st_ino != before
    assert store.read_info(folder)["views"] == "another"


def test_an_import_that_lacks_a_column_says_so(tmp_path: Path) -> None:
    folder = make_case(tmp_path / "x.case", {})
    info = json.loads((folder / "import.json").read_text())
    (folder / "import.json").write_text(json.dumps({**info, "views": "those of before"}))
    assert perfcase("view", "capture", folder, "--format", "csv").returncode == 0
    path = folder / "tables" / "capture.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * EXCLUDE (labels) FROM '{path}') TO '{path}.new' (FORMAT parquet)")
    Path(f"{path}.new").replace(path)
    (folder / "import.json").write_text(json.dumps({**info, "views": "those of before"}))
    said = fail(3, "view", "capture", folder)
    assert said.endswith("another version of perfcase made it: capture has no labels (import the capture again)")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


@pytest.mark.parametrize("harm", [Path.unlink, cut, garbage], ids=["deleted", "cut", "garbage"])
@pytest.mark.parametrize("table", ["thread", "sched_switch"])
def test_a_damaged_table_is_imported_again(recorded: Recorded, harm: Callable[[Path], None], table: str) -> None:
    file = recorded(CAPTURE)
    folder = store.open_case(file).folder
    harm(folder / "tables" / f"{table}.parquet")
    # Without the capture there is nothing to make it of: the same error and code, whatever was asked.
    for command in (["info"], ["report"], ["view", "thread_time"], ["findings"]):
        said = fail(3, *command, folder)
        assert f"{table}.parquet" in said
        assert said.endswith("(import the capture again)")
    assert "imported in" in succeed("import", "--tables-only", file)
    assert "imported before" in succeed("import", "--tables-only", file)


@pytest.mark.parametrize("harm", [Path.unlink, cut, garbage])
def test_a_broken_database_is_made_again(recorded: Recorded, harm: Callable[[Path], None]) -> None:
    folder = store.open_case(recorded(CAPTURE)).folder
    before = succeed("view", "thread_time", folder, "--format", "csv")
    harm(folder / "case.duckdb")
    assert succeed("view", "thread_time", folder, "--format", "csv") == before


@pytest.mark.parametrize("harm", [Path.unlink, cut, garbage])
def test_an_import_that_does_not_say_what_it_is_is_made_again(recorded: Recorded, harm: Callable[[Path], None]) -> None:
    file = recorded(CAPTURE)
    folder = store.open_case(file).folder
    harm(folder / "import.json")
    assert "imported in" in succeed("import", "--tables-only", file)
    assert "imported before" in succeed("import", "--tables-only", file)


def test_a_database_that_its_owner_changed_stays(recorded: Recorded) -> None:
    folder = store.open_case(recorded(CAPTURE)).folder
    with duckdb.connect(str(folder / "case.duckdb")) as connection:
        connection.execute("CREATE TABLE mine AS FROM range(200000)")
    assert succeed("sql", folder, "SELECT count(*) AS n FROM mine", "--format", "csv") == "n\n200000\n"


def test_an_import_that_is_killed_leaves_nothing_half_done(recorded: Recorded) -> None:
    file = recorded("x86_64/trace-v7-zstd.dat")
    target = file.parent / f"{file.name}.case"
    caught = 0

    def is_at_work() -> bool:
        return any(name.startswith(f".{target.name}.importing") for name in listing(file.parent))

    delays_s = (0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.2)
    for delay_s in delays_s if SCALE >= 1 else delays_s[::2]:
        succeed("import", "--tables-only", "--force", file)  # removes what the one before left behind
        child = subprocess.Popen([PERFCASE, "import", "--force", file], stdout=subprocess.DEVNULL)
        while child.poll() is None and not is_at_work():
            time.sleep(0.0005)
        time.sleep(delay_s)
        child.send_signal(signal.SIGKILL)
        child.wait()
        caught += is_at_work()
        if target.exists():
            assert [name for name in listing(target) if name != "kept"] == ["case.duckdb", "import.json", "tables"]
            assert (
                succeed("sql", target, "SELECT count(*) > 0 AS ok FROM thread_state", "--format", "csv") == "ok\ntrue\n"
            )
    assert caught, "no kill fell into an import"
    succeed("import", "--tables-only", "--force", file)
    assert listing(file.parent) == sorted([file.name, target.name])


def test_an_interrupt_ends_an_import_and_cleans_up(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    file = recorded(CAPTURE)

    def interrupted(phase: str, records: int, read_ns: tuple[int, int] | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.open_case(file, progress=interrupted)
    assert listing(file.parent) == [file.name]


def test_imports_of_one_file_at_the_same_time_make_one(recorded: Recorded) -> None:
    file = recorded(CAPTURE)
    children = [subprocess.Popen([PERFCASE, "import", file], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0, 0, 0, 0]
    assert sum("imported in" in text for text in told) == 1
    assert listing(file.parent) == [file.name, f"{file.name}.case"]


def test_where_the_folder_cannot_be_written_the_cache_is_used(
    recorded: Recorded, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = recorded(CAPTURE)
    # Root may write anywhere, so the answer of access(2) is what the test replaces.
    monkeypatch.setattr(store.os, "access", lambda path, mode: Path(path) != file.parent)
    case = store.open_case(file)
    assert case.folder.is_relative_to(cache)
    assert store.open_case(file).reused


def test_output_names_the_folder_or_the_place_for_several(recorded: Recorded, tmp_path: Path) -> None:
    one, two = recorded(CAPTURE), recorded("aarch64/trace-v6.dat")
    succeed("import", one, "-o", tmp_path / "out")
    assert listing(tmp_path / "out") == ["case.duckdb", "import.json", "kept", "tables"]
    assert "imported before" in succeed("import", one, "-o", tmp_path / "out")
    succeed("import", one, two, "-o", tmp_path / "both")
    assert listing(tmp_path / "both") == ["trace-v6.dat.case", "trace-v7-zstd.dat.case"]
    assert "is not a folder" in fail(2, "import", one, "-o", one)


def test_an_archive_and_its_unpacked_folder_give_the_same_tables(tmp_path: Path) -> None:
    archive = tmp_path / "x.perfcase"
    shutil.copy(ROOT / "sample-captures" / "x86_64-scheduling" / "x.perfcase", archive)
    folder = tmp_path / "unpacked"
    folder.mkdir()
    subprocess.run(["tar", "xf", archive, "-C", folder], check=True)
    packed, unpacked = store.open_case(archive), store.open_case(folder)
    assert unpacked.folder == tmp_path / "unpacked.case"
    assert unpacked.info["tables"] == packed.info["tables"]
    by_place = operator.itemgetter("source", "kind")  # a folder has no order of its own
    assert sorted(unpacked.info["issues"], key=by_place) == sorted(packed.info["issues"], key=by_place)
    assert store.open_case(folder).reused
    (folder / "host" / "version").write_text("another kernel")
    assert not store.open_case(folder).reused


def test_a_folder_of_somebody_else_is_not_replaced(recorded: Recorded, tmp_path: Path) -> None:
    file = recorded(CAPTURE)
    other = tmp_path / "trace-v7-zstd.dat.case"
    other.mkdir()
    (other / "letter").write_text("mine")
    assert "is not an imported folder" in fail(2, "import", file)
    assert (other / "letter").read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", 3), (b"hello", 3), (b"PERFILE2", 3), (b"\x17\x08\x44tracing", 3)],
    ids=["empty", "text", "perf", "trace"],
)
def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path, content: bytes, code: int) -> None:
    file = tmp_path / "broken"
    file.write_bytes(content)
    done = perfcase("import", file)
    # A file cut right after its magic may also import as an empty capture with an issue that says so.
    if done.returncode == 0:
        assert "error" in done.stdout
        return
    assert done.returncode == code
    assert str(file) in done.stderr
    assert done.stderr.count("\n") == 1
    assert listing(tmp_path) == ["broken"]


def test_a_missing_file_is_said_in_one_line(tmp_path: Path) -> None:
    for command in (["import"], ["report"], ["info"], ["sql"], ["view", "thread_time"]):
        tail = ["SELECT 1"] if command == ["sql"] else []
        assert fail(6, *command, tmp_path / "nothing", *tail) == f"{tmp_path}/nothing: no such file"


def test_an_event_named_like_a_view_does_not_replace_it(tmp_path: Path) -> None:
    folder = make_case(tmp_path / "x.case", {})
    with duckdb.connect() as connection:
        connection.sql("SELECT 7 AS on_cpu_ns").write_parquet(str(folder / "tables" / "thread_time.parquet"))
    database.write(folder, {"thread_time": [("on_cpu_ns", "INTEGER")]})
    with duckdb.connect(str(folder / "case.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM thread_time").fetchall() == [(0,)]
        assert connection.execute("SELECT on_cpu_ns FROM event_thread_time").fetchall() == [(7,)]


def test_a_template_that_was_cut_is_made_again(recorded: Recorded, cache: Path) -> None:
    """By a full disk, or a power failure: every import and every part of a capture is made from it."""
    ask = ("view", "thread_time", recorded(CAPTURE), "--only", "window=0s..1s", "--format", "csv")
    first = succeed(*ask)
    kept = list(cache.glob("*.duckdb"))
    assert {path.name.partition("-")[0] for path in kept} == {"case", "window"}
    for path in kept:
        os.truncate(path, 100_000)
    succeed("import", "--tables-only", "--force", recorded(CAPTURE))
    assert succeed(*ask) == first


def test_the_first_import_of_all_takes_the_database_that_came_with_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To make it takes seconds."""
    package, cache = tmp_path / "package", tmp_path / "cache"
    package.mkdir()
    shutil.copy(database.template(), package)
    (package / "case-of-an-older-schema-3.duckdb").write_bytes(b"old")
    database.ship(package)
    (shipped,) = package.iterdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(database, "package_data", lambda name: {database.TEMPLATES: package}[name])
    assert database.template() == database.template_at_hand() == shipped
    assert not cache.exists()
    other = database.template({"event_of_mine": [("ts_ns", "BIGINT")]})
    assert other.parent == cache / "perfcase"


def test_the_templates_in_use_are_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that all others are made from is the oldest, and takes a hundred times as long to make."""
    monkeypatch.setattr(database, "TEMPLATES_MAX", 3)
    first = database.template()
    made = first.stat().st_ino
    for number in range(database.TEMPLATES_MAX + 2):
        last = database.template({f"event_{number}": [("ts_ns", "BIGINT")]})
        used_s = time.time() - 3600 + number
        os.utime(last, (used_s, used_s))
    assert first.stat().st_ino == made
    left = set(cache.glob("*.duckdb"))
    assert {first, last} <= left
    assert len(left) == database.TEMPLATES_MAX


def test_where_there_is_no_cache_two_threads_have_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sides of a diff. A folder of which there are two removes itself while it is in use."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    usual = tempfile.TemporaryDirectory
    database._made_scratch.cache_clear()

    def slow(**options: str) -> tempfile.TemporaryDirectory:
        time.sleep(0.1)
        return usual(**options)

    def make(_: Path, path: Path) -> None:
        time.sleep(0.1)
        duckdb.connect(str(path)).close()

    monkeypatch.setattr(tempfile, "TemporaryDirectory", slow)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda key: database.in_cache("x", key, make), "ab")
    assert first.parent == second.parent
    assert first.exists()
    assert second.exists()


def test_names_that_are_patterns_stand_for_themselves(tmp_path: Path) -> None:
    """Two are patterns of the third one's name: DuckDB takes every path for a pattern."""
    sources = {"a[b].data": "base", "a*.data": "slow", "ab.data": "again"}
    alone = {}
    for name, source in sources.items():
        (tmp_path / name).write_bytes(lzma.decompress((DATA / f"{source}.data.xz").read_bytes()))
        folder = tmp_path / source
        folder.mkdir()
        alone[name] = _answers(shutil.copy(tmp_path / name, folder / "x.data"))
        succeed("import", "--tables-only", tmp_path / name)
    assert len({answers[0] for answers in alone.values()}) == 3
    assert alone == {name: _answers(tmp_path / name) for name in sources}


def _answers(file: Path) -> list[str]:
    """What the tables say, what a view says, and what is kept."""
    questions = (
        ("sql", file, "SELECT count(*) AS n, sum(hash(sample)) AS rows FROM sample"),
        ("view", "thread_time", file),
        ("view", "finding", file),
    )
    done = [perfcase(*each, "--format", "csv") for each in questions]
    assert [each.returncode for each in done] == [0, 0, 0]
    return [each.stdout.replace(file.name, "x.data") for each in done]

"""The house rules that can be checked: file length, documentation of every column, units in names, forbidden text."""

from __future__ import annotations

import hashlib
import lzma
import re
import subprocess
import tomllib
from pathlib import Path

import duckdb
import pytest

import perfcase
from perfcase.case import window
from perfcase.catalogue.schema import load_catalogue, load_tables, quote
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views, referenced_names
from perfcase.diff.sides import EVENTS
from tests.support import viewtest
from tests.support.alone import BUILD
from tests.support.unpacked import unpacked

ROOT = Path(__file__).parents[1]
LINES_MAX = 500
SOURCES = {".rs", ".py", ".sh", ".c", ".h", ".sql", ".toml", ".test", ".ts", ".tsx", ".mjs", ".css", ".mk"}
TABLES = {**load_tables(), **load_catalogue()}
VIEWS = sorted(load_views())


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True,
    ).stdout  # fmt: skip
    found = (ROOT / name.decode() for name in listed.split(b"\0") if name)
    return [path for path in found if path.is_file() and not path.is_symlink()]


def first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(80)


def sources() -> list[Path]:
    def is_source(path: Path) -> bool:
        return path.suffix in SOURCES or first_line(path).startswith(b"#!")

    return [path for path in tracked() if is_source(path) and "fixtures" not in path.parts]


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = {}
    # What a script makes (*.gen.ts) is read by compilers.
    for path in (path for path in sources() if ".gen." not in path.name):
        lines = len(path.read_bytes().splitlines())
        if lines > LINES_MAX:
            long[str(path.relative_to(ROOT))] = lines
    assert long == {}, f"files of more than {LINES_MAX} lines: one file, one job"


def test_nothing_names_the_place_where_it_was_written() -> None:
    # Spelled in parts, so that this file does not find itself.
    forbidden = re.compile(
        "|".join(
            [
                "(?<![\\w.-])/wo" + "rk/",
                r"\.\./sha" + "red",
                "pypi" + r"\.org",
                "pythonho" + "sted",
                "npm" + r"js\.org",
                r"index\.crates" + r"\.io",
            ]
        ).encode()
    )
    found = []
    for path in tracked():
        data = path.read_bytes()
        if b"\0" in data[:8000]:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0].decode()}" for match in forbidden.finditer(data)]
    assert found == []


def test_no_recording_names_the_machine_that_made_it() -> None:
    # Mounts, control groups and variables of a shared machine say nothing about what was recorded. Spelled in parts, as above.
    forbidden = re.compile(rb"/wo" rb"rk/|sand" rb"boxing|model_" rb"tools|process_" rb"api|fire" rb"cracker")
    # To unpack all of them takes 20 s: those that this code found in order before are known by their bytes.
    code = (ROOT / "tests" / "support" / "unpacked.py").read_bytes() + forbidden.pattern
    known = BUILD / f"in-order-{hashlib.sha256(code).hexdigest()[:24]}"
    in_order = set(known.read_text().split()) if known.exists() else set()
    found, seen = [], set()
    for path in tracked():
        data = path.read_bytes()
        if b"\0" in data[:8000]:
            digest = hashlib.sha256(data).hexdigest()
            wrong = [] if digest in in_order else [
                f"{name}: {match[0].decode()}"
                for name, content in unpacked(str(path.relative_to(ROOT)), data)
                for match in forbidden.finditer(content)
            ]  # fmt: skip
            found += wrong
            seen |= set() if wrong else {digest}
    BUILD.mkdir(parents=True, exist_ok=True)
    known.write_text("\n".join(sorted(seen)))
    assert found == []


def test_sentences_are_plain() -> None:
    """Words, a first word of a sentence, and names for which a tired reader has to read twice."""
    # Spelled in parts, so that this file does not find itself.
    words = [
        r"\bwho" + r"(?:m|ever|mever)\b",
        r"\bane" + r"w\b",
        "unless" + r"\W+told\b",
        r"\bfor wa" + r"nt of\b",
        r"[,:] but f" + r"or\b",
        r"\bif ne" + r"ed be\b",
        r"\bnotwith" + r"standing\b",
        r"\b(?:hard|sel)" + r"(?:ly|dom)\b",
        r"\bbewa" + r"re\b",
        r"\bwho as" + r"ks\b",
        r"\bis o" + r"f --",
        r"\bput o" + r"ff\b",
        r"\ba stran" + r"ger's\b",
    ]
    names = ["KEEPS_" + "NOT", "NOBODY_" + "ASKED", r"(?:class|struct|type|function) _?(?:Sa" + r"id|To" + r"ld|Way)\b"]
    hard = re.compile(f"(?i:{'|'.join(words)})" + r"|\bO" + r"f\s+[^\s=]" + f"|{'|'.join(names)}")
    prose = [path for path in tracked() if path.suffix in {".md", ".8"}]
    found = []
    for path in {*sources(), *prose}:
        text = path.read_text(errors="replace")
        found += [f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, at.start()) + 1}" for at in hard.finditer(text)]
    assert sorted(found) == [], (
        "say 'anyone who', 'again', 'by default', 'except', and begin the sentence with its subject"
    )


def test_pinned_requirements_hold_no_addresses() -> None:
    """Names, versions and hashes: where packages come from is each machine's own affair."""
    files = [path for path in tracked() if re.fullmatch(r"requirements.*\.txt", path.name)]
    assert len(files) >= 4
    line = re.compile(r"(#.*|[a-z0-9-]+(\[[a-z,]+\])?==\S+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?|)")
    other = [(path.name, told) for path in files for told in path.read_text().splitlines() if not line.fullmatch(told)]
    assert other == [], "make requirements pins without addresses"
    assert '"resolved"' not in (ROOT / "api" / "web" / "package-lock.json").read_text()


def test_the_version_stands_in_one_place() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    told = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.])".encode())
    places = {path.relative_to(ROOT) for path in sources() if told.search(path.read_bytes())}
    # The archives of tests/compat keep the version that wrote them.
    assert {str(path) for path in places if "compat" not in path.parts} == {"Cargo.toml"}
    assert perfcase.__version__ == version


def test_no_recording_is_stored_twice() -> None:
    unpack = {
        ".xz": lzma.decompress,
        ".zst": lambda data: subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=True).stdout,
    }
    seen: dict[bytes, list[str]] = {}
    for path in tracked():
        if re.search(r"\.(data|dat|perfcase)(\.xz|\.zst)?$", path.name):
            content = unpack.get(path.suffix, bytes)(path.read_bytes())
            seen.setdefault(hashlib.sha256(content).digest(), []).append(str(path.relative_to(ROOT)))
    assert [paths for paths in seen.values() if len(paths) > 1] == []


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_is_documented(name: str) -> None:
    table = TABLES[name]
    assert table.description
    assert table.grain
    names = [column.name for column in table.columns]
    assert len(names) == len(set(names)), "a column is described twice"
    assert [column.name for column in table.columns if not column.description] == []
    assert [key for key in table.order if key not in names] == [], "ordered by a column that it does not have"
    check_units([(column.name, column.unit) for column in table.columns])


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return viewtest.database(frozenset(load_views().values()))


@pytest.mark.parametrize("name", sorted(load_tables()))
def test_every_table_says_how_a_window_cuts_it(name: str, database: duckdb.DuckDBPyConnection) -> None:
    """A word, or SQL of columns that it has; and what a diff may divide by."""
    table = load_tables()[name]
    assert (table.window == "derived") == (table.derived is not None)
    assert table.derived is None or table.made_of, "what it is made of says whether it can have rows"
    columns = [column.name for column in table.columns]
    needed = {"event": {"ts_ns"}, "sample": {"sample_id"}, "last": {"ts_ns", "snapshot"}}.get(table.window, set())
    assert needed <= set(columns), f"{table.window}: a window needs {needed}"
    assert table.window != "whole" or "ts_ns" not in columns, "rows with a time are not all in a window"
    written = [column.in_window for column in table.columns if column.in_window not in (None, *window.COLUMNS)]
    if table.window not in window.WINDOWS:
        written.append(table.window)
    assert [text for text in written if not re.search(r"\{(start|end)\}", text)] == [], "neither a word nor SQL"
    with duckdb.connect() as connection:
        listed = ", ".join(f"NULL::{column.sql_type} AS {quote(column.name)}" for column in table.columns)
        shown = window._shown(name, f"SELECT {listed}", columns, True, ())
        if "sample_id" in columns:
            connection.execute("CREATE VIEW sample AS SELECT 1 AS sample_id")
        found = (
            (database if table.derived else connection).execute(f"DESCRIBE {shown or f'SELECT {listed}'}").fetchall()
        )
    assert [row[:2] for row in found] == [(column.name, column.sql_type) for column in table.columns]
    assert [each.kind for each in table.events if each.kind not in EVENTS] == []


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_is_documented_as_duckdb_describes_it(name: str, database: duckdb.DuckDBPyConnection) -> None:
    view = load_views()[name]
    described = [row[0] for row in database.execute(f"DESCRIBE {quote(name)}").fetchall()]
    assert [column.name for column in view.columns] == described
    assert [column.name for column in view.columns if not column.description] == []
    assert view.description
    assert view.grain
    check_units([(column.name, column.unit) for column in view.columns])
    check_sources(view)


def test_who_opens_the_database_reads_what_each_column_of_a_view_means(database: duckdb.DuckDBPyConnection) -> None:
    rows = database.execute(
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
    ).fetchall()
    assert {(name, column): comment for name, column, comment in rows if name in VIEWS} == {
        (view.name, column.name): f"{column.description} [{column.unit}]" if column.unit else column.description
        for view in load_views().values()
        for column in view.columns
    }


def check_sources(view: View) -> None:
    """What the header says the view is made from is what its SELECT reads."""
    assert sorted(view.sources) == sorted(referenced_names(view)), "the header's 'source' is not what the SELECT reads"


UNITS = {"_ns": "ns", "_bytes": "bytes", "_ratio": "ratio", "_khz": "khz", "_s": "s", "_pages": "pages"}


def check_units(columns: list[tuple[str, str | None]]) -> None:
    """A unit in the name is the unit in the documentation, with or without a qualifier after it."""
    for name, unit in columns:
        for suffix, expected in UNITS.items():
            if re.search(rf"(?<!_per){suffix}(_min|_max|_avg|_p50|_p99)?$", name):
                assert unit == expected, f"{name}: the name says {expected}, the documentation {unit}"


@pytest.mark.parametrize("name", VIEWS)
def test_a_share_never_stands_alone(name: str) -> None:
    columns = [column.name for column in load_views()[name].columns]
    if any(column.endswith("_ratio") for column in columns):
        assert [c for c in columns if re.search(r"(_ns|_count|_bytes|_period|count|cycles)$", c)], (
            "a ratio and no absolute figure"
        )


def test_one_view_reads_what_strangers_did() -> None:
    """All others, and the rules behind ``finding``, take followed_state, which knows whose times a recording of some processes
    cannot tell."""
    assert {n for n, view in load_views().items() if "thread_state" in view.sources} == {"followed_state"}


def test_what_is_chosen_is_no_list_to_look_through() -> None:
    """For each row: of a capture with a million names, half of them chosen, that takes minutes. IN (SELECT unnest(…)) is a join."""
    sql = [
        *(ROOT / "schema").rglob("*.sql"),
        *(ROOT / "analyzer" / "python").rglob("*.py"),
        *(ROOT / "api" / "perfcase_api").rglob("*.py"),
    ]
    assert [path.name for path in sql if re.search(r"list_contains\(\s*getvariable", path.read_text())] == []


def test_no_window_is_over_a_filtered_aggregate() -> None:
    """DuckDB goes over the whole partition for each of its rows: 1.4 million of them took 100 s. CASE within the aggregate takes 0.1 s."""
    over = re.compile(r"\bFILTER\s*\((?:[^()]|\([^()]*\))*\)\s*OVER\b", re.IGNORECASE)
    assert over.search("count(*) FILTER (NOT is_a(b)) OVER (ORDER BY c)")
    files = [*(ROOT / "schema").rglob("*.sql"), *(ROOT / "analyzer" / "python").rglob("*.py")]
    assert [path.name for path in files if over.search(path.read_text())] == []


def test_a_name_is_found_by_the_time_alone() -> None:
    """A join by BETWEEN compares each event with each name of its process: one that renames itself a million times, which takes a
    second, would keep its readers for hours. An ASOF join takes time by the rows of both."""
    joined = re.compile(r"(\w+) LEFT JOIN (?:process_name|thread_name_span) AS \w+ ON (.*)")
    found = [
        (path.name, how, condition)
        for path in [*(ROOT / "schema").rglob("*.sql")]
        for how, condition in joined.findall(path.read_text())
    ]
    assert len(found) > 15
    assert [each for each in found if each[1] != "ASOF" or "BETWEEN" in each[2]] == []

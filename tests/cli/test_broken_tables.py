"""A table that is as long as it was and begins and ends as one does, with something else in between: no command breaks off."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from perfcase.case.store import open_case
from tests.support.cli import Done, fail, perfcase, succeed
from tests.support.scale import SCALE

COMMANDS = {
    "info": ["info", "{case}"],
    "report": ["report", "{case}"],
    "findings": ["findings", "{case}"],
    "summary": ["summary", "{case}", "-o", "{out}.html"],
    "diff": ["diff", "{case}", "{other}"],
    "other way": ["diff", "{other}", "{case}"],
    "parts": ["diff", "{case}", "--a", "0s..1s", "--b", "1s..2s"],
    "graphs": ["diff", "{case}", "{other}", "--flamegraph", "{out}"],
    "history": ["history", "{store}"],
    "sql": ["sql", "{case}", "FROM {table}"],
    "view": ["view", "lock_wait", "{case}", "--format", "csv"],
    "table": ["view", "{table}", "{case}", "-o", "{out}", "--format", "parquet"],
    "part": ["view", "thread_time", "{case}", "--only", "window=0s..1s"],
    "name": ["view", "thread_time", "{case}", "--only", "process=*"],
    "flamegraph": ["flamegraph", "{case}", "-o", "{out}"],
    "waits": ["flamegraph", "{case}", "--off-cpu", "-o", "{out}"],
    "folded": ["export", "{case}", "--to", "folded", "-o", "{out}"],
    "perfetto": ["export", "{case}", "--to", "perfetto", "-o", "{out}"],
    "symbolize": ["symbolize", "{case}", "--debug-dir", "{store}"],
}  # fmt: skip


def ends(content: bytes) -> bytes:
    return b"PAR1" + b"\xff" * (len(content) - 8) + b"PAR1"


def data(content: bytes) -> bytes:
    """The end of the file, which says what is in it, stays."""
    end = int.from_bytes(content[-8:-4], "little") + 8
    return b"PAR1" + b"\xff" * (len(content) - 4 - end) + content[-end:]


@pytest.fixture
def store(sample: Callable[[str], Path], tmp_path: Path) -> Path:
    """Two imported folders: x.case, which a test breaks, and y.case."""
    shutil.copytree(sample("d-nagle/tcp"), tmp_path / "x.case")
    shutil.copytree(sample("d-nagle/pipe"), tmp_path / "y.case")
    return tmp_path


def broken(store: Path, table: str, harm: Callable[[bytes], bytes]) -> Path:
    path = store / "x.case" / "tables" / f"{table}.parquet"
    path.write_bytes(harm(path.read_bytes()))
    return path


def asked(store: Path, table: str, start: int) -> dict[str, Done]:
    """What the commands say. ``make test`` asks a third of them of each broken table, other ones of each, and SQL of all."""
    words = {"case": store / "x.case", "other": store / "y.case", "store": store, "out": store / "out", "table": table}
    step = 3 if SCALE < 1 else 1
    chosen = [name for place, name in enumerate(COMMANDS) if name == "sql" or (place + start) % step == 0]
    return {name: perfcase(*(word.format(**words) for word in COMMANDS[name])) for name in chosen}


HARMS = [
    *((table, ends) for table in ("capture", "import_issue", "process", "source", "thread")),
    *((table, data) for table in ("source", "thread")),
]


@pytest.mark.parametrize(
    "number",
    # Each takes 2 to 4 s of CPU time, and what these two assert, the other tables whose ends are gone do as well.
    [
        pytest.param(n, marks=pytest.mark.long if HARMS[n] in (("process", ends), ("thread", ends)) else ())
        for n in range(len(HARMS))
    ],
    ids=[f"{table}-{harm.__name__}" for table, harm in HARMS],
)
def test_no_command_breaks_off(number: int, store: Path) -> None:
    table, harm = HARMS[number]
    path = broken(store, table, harm)
    failed = 0
    for name, done in asked(store, table, number).items():
        if done.returncode:
            failed += 1
            assert done.returncode == 3, (name, done.stderr)
            assert done.stderr.startswith(f"perfcase: {path}: cannot be read: "), name
            assert done.stderr.endswith(" (import the capture again)\n"), name
            assert done.stderr.count("\n") == 1, name
    assert failed


@pytest.mark.parametrize("command", [["info"], ["report"], ["diff", "--a", "..1ms", "--b", "1ms.."], ["findings"]])
def test_what_lies_beside_its_capture_is_imported_again(recorded: Callable[[str], Path], command: list[str]) -> None:
    file = recorded("aarch64/trace-v7-zstd.dat")
    folder = open_case(file).folder
    path = folder / "tables" / "source.parquet"
    whole = path.read_bytes()
    path.write_bytes(ends(whole))
    succeed(command[0], file, *command[1:])
    assert path.read_bytes() == whole


def test_what_only_reading_shows_names_the_way_to_import_again(recorded: Callable[[str], Path]) -> None:
    file = recorded("aarch64/trace-v7-zstd.dat")
    path = open_case(file).folder / "tables" / "source.parquet"
    path.write_bytes(data(path.read_bytes()))
    said = fail(3, "sql", file, "FROM source")
    assert said.startswith(f"{path}: cannot be read: ")
    assert said.endswith(f" (perfcase import --force {file})")
    succeed("import", "--force", file)
    succeed("sql", file, "FROM source")


def test_an_error_in_the_question_stays_one(store: Path) -> None:
    broken(store, "source", data)
    assert fail(5, "sql", store / "x.case", "SELECT nothing FROM thread").startswith("Binder Error")

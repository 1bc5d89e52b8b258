"""What an import says of its capture without a look at its tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from perfcase.case import facts, store
from perfcase.fleet import captures
from tests.support.cli import fail, succeed
from tests.support.imports import SAMPLES

CAPTURE = SAMPLES / "d-nagle" / "pipe.perfcase"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store.open_case(CAPTURE, tmp_path_factory.mktemp("facts") / "pipe.case").folder


def test_an_import_says_what_its_table_says(folder: Path) -> None:
    told = facts.told(store.read_info(folder))
    assert told == facts.read(folder) == facts.read_all([folder])[folder]
    assert told.capture_id
    assert told.duration_ns


@pytest.mark.parametrize(
    "lie",
    [
        None, [], {}, {"capture_id": "x"}, {"extra": 1}, {"host": 1}, {"cpu_count": True}, {"cpu_count": 2.0}, {"duration_ns": 1 << 70},
        {"note": "\ud800"}, {"labels": ["a"]},
    ],
)  # fmt: skip
def test_what_no_import_writes_is_read_of_the_table(folder: Path, tmp_path: Path, lie: object) -> None:
    """The process that wrote it read an untrusted file, and older versions wrote nothing."""
    copied = tmp_path / "a.case"
    shutil.copytree(folder, copied)
    ((before,),) = [captures.load([tmp_path]).captures]
    info = store.read_info(copied)
    is_part = isinstance(lie, dict) and lie.keys() != {"capture_id"}
    info["capture"] = {**info["capture"], **lie} if is_part and lie else lie
    (copied / "import.json").write_text(json.dumps(info))
    assert facts.told(info) is None
    ((after,),) = [captures.load([tmp_path]).captures]
    assert after == before


def test_a_list_of_captures_opens_no_table(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(folder, tmp_path / "a.case")
    monkeypatch.setattr(facts, "read", lambda _: pytest.fail("it read a table"))
    monkeypatch.setattr(
        facts, "read_all", lambda folders: {folder: pytest.fail("it read a table") for folder in folders}
    )
    ((capture,),) = [captures.load([tmp_path]).captures]
    assert capture.capture_id


@pytest.mark.parametrize("name", ["\0", "\ud800", "../thread", "loop"])
def test_a_strange_table_costs_only_its_capture(folder: Path, tmp_path: Path, name: str) -> None:
    for each in "ab":
        shutil.copytree(folder, tmp_path / f"{each}.case")
    if name == "loop":
        (tmp_path / "a.case" / "tables" / "loop.parquet").symlink_to("loop.parquet")
    info = store.read_info(tmp_path / "a.case")
    info["tables"][name] = 1
    (tmp_path / "a.case" / "import.json").write_text(json.dumps(info))
    told = succeed("history", tmp_path, "--format", "json")
    assert "a.case" in fail(3, "info", tmp_path / "a.case")
    assert {row["capture"]: bool(row["problem"]) for row in json.loads(told)} == {"a.case": True, "b.case": False}


def test_a_link_to_nothing_is_no_table(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "a.case")
    before = captures.load([tmp_path]).captures[0].tables
    (tmp_path / "a.case" / "tables" / "other.parquet").symlink_to("nowhere")
    assert captures.load([tmp_path]).captures[0].tables == before

"""Copies of stacks: the callers that are found in them stay when the copies go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import perfcase
from tests.support.imports import placed
from tests.support.redacted import differences

CAPTURES = Path(__file__).parents[1] / "data" / "symbols"
ANSWERS = {"callees", "callers", "call_path", "dso", "frame", "frame_label", "function_profile", "import_issue", "sample", "stack", "stack_entry",
           "stack_folded"}  # fmt: skip


def _redacted(name: str, folder: Path) -> str:
    file = placed(CAPTURES / f"{name}.perfcase", folder)
    file.replace(folder / "x.perfcase")
    file.with_suffix(".case").replace(folder / "x.case")
    done = perfcase("redact", folder / "x.perfcase", "-o", folder / "out.perfcase")
    assert done.returncode == 0, done.stderr
    return done.stderr


def _rows(file: Path, sql: str) -> list[dict]:
    done = perfcase("sql", file, sql, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["c-dwarf", "cxx-dwarf", "ends-dwarf", "c-dwarf-aarch64", "messaging-dwarf-aarch64"])
def test_callers_stay(name: str, tmp_path: Path) -> None:
    said = _redacted(name, tmp_path)
    assert "samples that lost the copy of a stack or of registers; the callers that were found in it stay" in said
    original, redacted = (tmp_path / each for each in ("x.perfcase", "out.perfcase"))
    assert differences(original, redacted, tmp_path / "out.perfcase.key", ANSWERS) == []
    assert _rows(redacted, "SELECT max(depth - kernel_depth) AS n FROM stack")[0]["n"] > 2
    graphs = [perfcase("export", file, "--to", "folded").stdout for file in (original, redacted)]
    (tmp_path / "graph").write_text(graphs[1])
    shown = perfcase("reveal", "--key", tmp_path / "out.perfcase.key", tmp_path / "graph").stdout
    assert sorted(shown.splitlines()) == sorted(graphs[0].splitlines())


def test_nothing_of_the_copies_stays(tmp_path: Path) -> None:
    """The mark that says how a callchain ends is all that is left of a copy."""
    _redacted("c-dwarf", tmp_path)
    copies = (
        "SELECT DISTINCT user_stack::VARCHAR AS text, user_regs_abi FROM sample_detail WHERE user_stack IS NOT NULL"
    )
    assert len(_rows(tmp_path / "x.perfcase", copies)) > 10
    left = _rows(tmp_path / "out.perfcase", copies)
    assert left
    assert all(row["text"].startswith("unwound") and len(row["text"]) <= 11 for row in left)
    assert {row["user_regs_abi"] for row in left} == {None}

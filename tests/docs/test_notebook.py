"""docs/notebook.ipynb runs as it stands, cell by cell, beside the sample captures and with a server."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest

from tests.api.conftest import SAMPLES, start

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def run(code: str, names: dict[str, object]) -> object:
    """A cell: what its last line gives."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names) if last else None


def test_every_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SAMPLES / "d-nagle", tmp_path / "sample-captures" / "d-nagle")
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    server = start(tmp_path / "store")
    monkeypatch.setenv("PERFCASE_URL", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("PERFCASE_TOKEN", server.token)
    cells = [
        "".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"
    ]
    names: dict[str, object] = {}
    found, stalls, waits, _ = [run(cell, names) for cell in cells]
    server.stop()
    assert list(found["severity"]) == ["critical"]
    assert len(stalls) == 5
    assert stalls["gap_ms"].is_monotonic_decreasing
    assert 40 < stalls["gap_ms"].iloc[-1] < stalls["gap_ms"].iloc[0] < 60
    assert waits["tcp"] > 5 * waits["pipe"]
    assert list(names["answer"]["capture"]) == ["tcp.perfcase"]
    assert names["answer"]["gap_ms"][0] == pytest.approx(stalls["gap_ms"].iloc[0], rel=1e-9), (
        "the same float, by another way"
    )

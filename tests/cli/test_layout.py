"""A table of our own is Rich's, where Rich folds nothing."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from perfcase.lazy import rich
from perfcase.terminal.layout import layout
from perfcase.terminal.render import table_of
from tests.cli.test_output import on_a_terminal
from tests.support.cli import succeed
from tests.support.fakecase import make_case
from tests.support.scale import scaled

VALUES = (
    None, True, False, 0, -7, 1 << 80, 1.5, 1e-9, float("nan"), "", " ", "a b  c ", "x" * 90, "日本", "e\u0301", "🔥 fire", "a\tb\x1b[1m",
    b"\x00\xff", [1, None], {"a": "é"}, "[red]x[/red]", ":smile:", "e\u200bx",
)  # fmt: skip


def by_rich(names: list[str], rows: list[list[object]], **options: object) -> str:
    file = io.StringIO()
    console = rich.console.Console(file=file, highlight=False, **options)
    console.print(table_of(names, rows), crop=False)
    return file.getvalue()


def test_random_tables() -> None:
    chance = random.Random(7)
    numbers = [value for value in VALUES if value is None or isinstance(value, (int, float))]
    for _ in range(scaled(500)):
        columns = chance.randrange(7)
        names = [chance.choice(("", "a", "name of it", "日", "x\ny")) for _ in range(columns)]
        kinds = [chance.choice((VALUES, numbers, (None,), ("one", "two words"))) for _ in names]
        # What has numbers has no texts, as columns of DuckDB.
        kinds = [
            [v for v in kind if kind is not VALUES or isinstance(v, (str, bytes, list, dict, bool))] for kind in kinds
        ]
        rows = [[chance.choice(kind) for kind in kinds] for _ in range(chance.randrange(5))]
        if names and not any(names) and not rows:
            continue  # Rich gives a table without any text a width of one. No query has such a column.
        expected = by_rich(names, rows, width=1_000, soft_wrap=True)
        assert layout(names, rows).text(is_coloured=False) == expected, (names, rows)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_case(tmp_path_factory.mktemp("case") / "x.case", {"thread": [{"utid": 1, "comm": "one"}, {"utid": 2}]})


def test_on_a_terminal_it_is_coloured_and_folded_where_it_is_too_wide(case: Path) -> None:
    seen = on_a_terminal("sql", case, "SELECT utid, comm FROM thread ORDER BY utid").decode().replace("\r", "")
    assert "\x1b[1mutid   comm\x1b[0m\n" in seen
    assert "   2   \x1b[2mNULL\x1b[0m\n\x1b[2m2 rows\x1b[0m\n" in seen
    wide = on_a_terminal("sql", case, "SELECT repeat('x', 400) AS a").decode().replace("\r", "")
    assert [len(line) for line in wide.splitlines() if line.startswith("xxx")] == [300, 300]


def test_color_can_be_forced(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m" in succeed("sql", case, "SELECT 1 AS a")

"""The runner of the view tests must fail where it should: a test that cannot fail is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import viewtest

GOOD = """\
# a comment
case one
input things (a BIGINT, b VARCHAR)
  (1, 'x,(y'),
  (2, NULL)
query
  SELECT a, b FROM things ORDER BY a
rows
  1 | x,(y
  2 | NULL
"""


def run(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "things.test"
    path.write_text(text)
    return [failure for case in viewtest.parse(path) for failure in viewtest.check(case)]


def test_exact_rows_pass(tmp_path: Path) -> None:
    assert run(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  2 | NULL\n", ""),
        ("  2 | NULL\n", "  2 | NULL\n  3 | z\n"),
        ("| NULL", "| x"),
        ("  1 | x,(y\n  2 | NULL\n", "  2 | NULL\n  1 | x,(y\n"),
    ],
    ids=["row missing", "row too many", "another value", "another order"],
)
def test_other_rows_fail(tmp_path: Path, old: str, new: str) -> None:
    assert old in GOOD
    assert run(tmp_path, GOOD.replace(old, new))


def test_an_order_that_is_not_total_fails(tmp_path: Path) -> None:
    loose = GOOD.replace("ORDER BY a", "ORDER BY 1 + 0 * a")
    assert any("reversed" in failure for failure in run(tmp_path, loose))
    assert any("ORDER BY" in failure for failure in run(tmp_path, GOOD.replace("ORDER BY a", "")))


@pytest.mark.parametrize(
    "text",
    ["query\n  SELECT 1\nrows\n  1\n", "case a\nquery\n  SELECT 1\n", "case a\nrows\n  1\n", "case a\nstray\n", ""],
)
def test_files_out_of_form_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(viewtest.FormError):
        run(tmp_path, text)


def test_values_are_written_one_way() -> None:
    values = [None, True, 1.5, 1e20, "a|b\n", "", "NULL", " a", [1, None], {"a": "x"}, b"\x01"]
    assert [viewtest.render(value) for value in values] == [
        "NULL", "true", "1.5", "1e+20", "a\\|b\\n", '""', '"NULL"', '" a"', "[1, NULL]", "{a: x}", "0x01",
    ]  # fmt: skip

"""The report as JSON: of the form that the schema describes, with the figures of the text; and none of them worked out in Python."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from perfcase.case import query
from perfcase.catalogue.rules import load_rules
from perfcase.catalogue.schema import quote
from perfcase.catalogue.views import load_views
from perfcase.report import checklist
from perfcase.report.document import Cell, Column, Section, Table, to_dict
from perfcase.report.writer import SECTIONS
from tests.support.cli import succeed

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "analyzer" / "python" / "perfcase" / "report"
SCHEMA = json.loads((ROOT / "schema" / "report.schema.json").read_text())
MAKES_NO_FIGURES = {"document.py", "page.py", "pictures.py", "printer.py", "writer.py"}
"""They lay out what sections say."""


@pytest.fixture(scope="module")
def case(sample: Callable[[str], Path]) -> Path:
    return sample("x86_64-scheduling/x")


@pytest.fixture(scope="module")
def report(case: Path) -> dict[str, Any]:
    return json.loads(succeed("report", case, "--format", "json"))


def links(told: object) -> Iterator[dict[str, Any]]:
    if isinstance(told, dict):
        if "link" in told:
            yield told["link"]
        for value in told.values():
            yield from links(value)
    elif isinstance(told, list):
        for value in told:
            yield from links(value)


@pytest.mark.parametrize("name", ["x86_64-scheduling/x", "aarch64-counters/x", "d-nagle/tcp", "d-slow-disk/reader"])
def test_it_is_what_the_schema_says(name: str, sample: Callable[[str], Path], tmp_path: Path) -> None:
    file = sample(name)
    told = json.loads(succeed("report", file, "-f", "json"))
    jsonschema.validate(told, SCHEMA)
    titles = [section.TITLE for section in SECTIONS]
    assert [section["title"] for section in told["sections"]] == titles
    assert all(section["blocks"] for section in told["sections"])
    assert succeed("report", file, "-f", "json", "-o", tmp_path / "x.json") == ""
    assert json.loads((tmp_path / "x.json").read_text()) == told


def test_text_and_data_say_the_same(case: Path, report: dict[str, Any]) -> None:
    text = succeed("report", case)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    tables = [block for section in report["sections"] for block in section["blocks"] if block["kind"] == "table"]
    assert len(tables) > 12
    for table in tables:
        assert " ".join(column["heading"] for column in table["columns"] if column["heading"]) in " ".join(lines)
        for row in table["rows"]:
            figures = [
                cell["text"] for cell, column in zip(row, table["columns"], strict=True) if "is_text" not in column
            ]
            assert any(all(figure in line for figure in figures) for line in lines), figures
    for section in report["sections"]:
        for block in section["blocks"]:
            told = block.get("text") or block.get("title") or ""
            assert " ".join(told.split()) in " ".join(lines), told


def test_what_it_leads_to_is_there(case: Path, report: dict[str, Any]) -> None:
    found = list(links(report))
    kinds = {kind for link in found for kind in link} - {"where", "order"}
    assert kinds == {"view", "thread", "process", "finding"}
    with query.connect(case) as connection:
        for link in found:
            if "view" in link:
                where, order = (
                    f"{word} {link[key]}" if key in link else ""
                    for word, key in (("WHERE", "where"), ("ORDER BY", "order"))
                )
                connection.execute(f"SELECT * FROM {quote(link['view'])} {where} {order} LIMIT 1")
            if "thread" in link:
                assert connection.execute("SELECT 1 FROM thread WHERE tid = ?", [link["thread"]]).fetchall()
            if "process" in link:
                assert connection.execute("SELECT 1 FROM process WHERE pid = ?", [link["process"]]).fetchall()
            assert link.get("finding", "cpu_saturation") in load_rules()


def test_figures_have_their_units(report: dict[str, Any]) -> None:
    (use,) = (section for section in report["sections"] if section["name"] == "use")
    (table,) = (block for block in use["blocks"] if block["kind"] == "table")
    units = {row[2]["text"]: [row[n].get("unit") for n in (3, 5)] for row in table["rows"]}
    assert units["busy"] == ["ratio", "ns"]
    assert units["used"] == ["ratio", "bytes"]
    (busy,) = (row for row in table["rows"] if row[0]["text"] == "cpu" and row[2]["text"] == "busy")
    assert busy[3] == {"value": pytest.approx(0.513978, abs=1e-6), "text": "51.4 %", "unit": "ratio"}
    assert busy[6]["link"] == {"view": "cpu_summary"}


def test_what_json_cannot_say_is_unknown() -> None:
    cells = [Column("a", "count").cell(value, {}) for value in (float("nan"), float("inf"), None, 3)]
    told = to_dict("x", [Section("title", "name", [Table([Column("a", "count")], [cells])])])
    json.dumps(told, allow_nan=False)
    (row,) = told["sections"][0]["blocks"][0]["rows"]
    assert [cell["value"] for cell in row] == [None, None, None, 3]
    assert row[2]["text"] == "-"
    assert Column("a").cell(Cell(1, "ns", "1 ns"), {}).text == "1 ns"
    assert Column("a").cell("\x1b[2J", {}).text == "\\e[2J"


def sections() -> list[Path]:
    return [path for path in sorted(REPORT.glob("*.py")) if path.name not in MAKES_NO_FIGURES]


@pytest.mark.parametrize("path", sections(), ids=lambda path: path.name)
def test_a_section_works_nothing_out(path: Path) -> None:
    """It selects columns, filters, orders and limits; it adds and divides nothing. What it counts is what it shows."""
    tree = ast.parse(path.read_text())
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    aggregate = r"\b(sum|avg|count|min|max|arg_\w+|median|mode|quantile\w*|list|string_agg|any_value|bool_\w+)\s*\("
    assert [
        text
        for text in texts
        if re.search(rf"{aggregate}|GROUP BY|HAVING|QUALIFY|\bOVER\b|\bSELECT (?!(utid|comm) FROM)", text)
    ] == []
    assert "execute(" not in path.read_text()
    arithmetic = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
    assert [
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, arithmetic)
    ] == []
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert called & {"sum", "max", "min", "abs", "round"} == set()
    # What is left out of a list is counted; nothing else is subtracted.
    taken = [
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    ]
    assert [told for told in taken if not re.fullmatch(r"len\(\w+\) - len\(\w+\)", told)] == []


def test_conditions_and_orders_are_of_columns(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB reads what was asked: no aggregate, no arithmetic."""
    from perfcase.report.page import Page

    asked: list[tuple[str, str]] = []
    select = Page.select

    def noted(page: Page, view: str, columns: str = "*", **more: Any) -> list[dict[str, Any]]:
        asked.append(
            (view, f"SELECT {columns} FROM t WHERE {more.get('where') or 'true'} ORDER BY {more.get('order') or '1'}")
        )
        return select(page, view, columns, **more)

    monkeypatch.setattr(Page, "select", noted)
    from perfcase.report.writer import sections as told

    with query.connect(case) as connection:
        list(told(connection))
        assert len(asked) > 30
        assert {view for view, _ in asked} - {"import_issue", "recorder_process"} <= load_views().keys()
        for view, sql in asked:
            (tree,) = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
            functions = set(re.findall(r'"function_name":"([^"]+)"', tree))
            assert functions == set(), (view, sql)


def test_the_checklist_is_part_of_it(report: dict[str, Any]) -> None:
    (section,) = (section for section in report["sections"] if section["name"] == "checklist")
    tools = [block["tool"] for block in section["blocks"] if block["kind"] == "check"]
    assert section["title"] == checklist.TITLE
    assert tools == [
        "uptime",
        "dmesg",
        "vmstat",
        "mpstat",
        "pidstat",
        "iostat",
        "free",
        "sar -n DEV",
        "sar -n TCP",
        "top",
    ]

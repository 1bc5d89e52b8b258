"""One description for each idea: a key is described where it is at home, and a view repeats nothing that its sources say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from perfcase.catalogue.schema import Column, load_catalogue, load_keys, load_tables, parse_table
from perfcase.catalogue.view import View, parse_view
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError

KEYS = load_keys()
TABLES = {**load_tables(), **load_catalogue()}
LIKE_SOURCE = 0.97
"""From here on two texts say the same of a figure: a word may make it another one."""
LIKE_KEY = 0.8
SMALL = {"a", "an", "the", "its", "it", "of", "if", "s"}
"""Words that add nothing to what a key is."""


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def likeness(text: str, other: str) -> float:
    """How much of two texts is the same, from 0 to 1; marks and capital letters do not count."""
    return SequenceMatcher(None, " ".join(words(text)), " ".join(words(other)), autojunk=False).ratio()


def is_key_again(column: Column) -> bool:
    """Whether a description says nothing that the key's does not."""
    home = KEYS[column.name].description
    return not {*words(column.description)} - {*words(home)} - SMALL or likeness(column.description, home) >= LIKE_KEY


def repeated(view: View) -> dict[str, str]:
    """The columns that a view describes as their home or one of its sources does already, with what it should say."""
    found = {}
    for column in (each for each in view.header if isinstance(each, Column)):
        if column.name in KEYS and is_key_again(column):
            found[column.name] = "keys"
        for source in view.sources:
            for theirs in (load_views().get(source) or TABLES[source]).columns:
                same = theirs.name == column.name and theirs.unit == column.unit
                if same and likeness(column.description, theirs.description) >= LIKE_SOURCE:
                    found[column.name] = f"as in {source}"
    return found


@pytest.mark.parametrize("name", sorted(load_views()))
def test_a_view_repeats_no_description(name: str) -> None:
    assert repeated(load_views()[name]) == {}


def test_a_copy_is_found() -> None:
    near = Column(
        "state", load_views()["followed_state"].columns[4].description.replace("(the idle task)", "the idle task")
    )
    copies = (
        Column("utid", "the capture's own thread key"),
        Column("tid", "thread id, a label"),
        Column("cpu", "the CPU, or all"),
        near,
    )
    assert repeated(View("v", "g", "d", "g", ("followed_state",), (), copies, "", Path("v.sql"))) == {
        "utid": "keys", "tid": "keys", "state": "as in followed_state",
    }  # fmt: skip


def test_a_table_describes_a_key_only_where_it_is_at_home_or_means_more() -> None:
    described = {
        table.name: [
            each for each in tomllib.loads(table.path.read_text(encoding="utf-8"))["column"] if "description" in each
        ]
        for table in TABLES.values()
    }
    own = [
        (name, Column(e["name"], e["description"]))
        for name, all_ in described.items()
        for e in all_
        if not e.get("key")
    ]
    assert [f"{name}.{each.name}" for name, each in own if each.name in KEYS and is_key_again(each)] == []


def test_each_key_has_one_home_and_one_unit() -> None:
    homes = [(column.name, table.name) for table in TABLES.values() for column in table.columns if column.is_key]
    assert sorted(name for name, _ in homes) == sorted(KEYS)
    for entry in (*load_views().values(), *TABLES.values()):
        units = {column.name: column.unit for column in entry.columns if column.name in KEYS}
        assert units == {name: KEYS[name].unit for name in units}, entry.name


def schema(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def table(*columns: str) -> str:
    return 'description = "D."\ngrain = "a row"\nwindow = "whole"\n' + "".join(
        f"\n[[column]]\n{each}\n" for each in columns
    )


UTID = 'name = "utid"\ntype = "u32"\nkey = true\ndescription = "The thread; 0 is idle."'
WAIT = 'name = "wait_ns"\ntype = "i64"\nunit = "ns"\ndescription = "CPU time."'


def view(folder: Path, *lines: str) -> View:
    text = "\n".join(["-- v: a view", "-- grain: a row", "-- source: a, w", *lines, "SELECT 1"])
    return parse_view(schema(folder, {"views/g/v.sql": text}) / "views" / "g" / "v.sql")


def test_a_view_has_columns_in_the_order_of_its_header_with_descriptions_from_elsewhere(tmp_path: Path) -> None:
    schema(
        tmp_path,
        {"tables/g/a.toml": table(UTID, WAIT), "views/g/w.sql": "-- w: w\n-- source: a\n-- as in a: wait_ns\nSELECT 1"},
    )
    made = view(
        tmp_path,
        "-- as in w: wait_ns",
        "-- column x: its own",
        "-- keys: utid",
        "-- diff by: x",
        "-- diff sum: wait_ns",
    )
    assert made.columns == (
        Column("wait_ns", "CPU time", "ns"), Column("x", "its own"), Column("utid", "the thread; 0 is idle"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("keys: utid, tid", "v.sql: no table has the key tid"),
        ("as in a: tid", "v.sql: a has no column tid"),
        ("as in b: utid", "v.sql: columns as in b, which is no source of it"),
    ],
)
def test_what_nothing_describes_is_an_error(tmp_path: Path, line: str, error: str) -> None:
    schema(tmp_path, {"tables/g/a.toml": table(UTID)})
    with pytest.raises(PerfcaseError, match=error):
        assert view(tmp_path, f"-- {line}").columns


def test_a_key_has_one_home(tmp_path: Path) -> None:
    schema(tmp_path, {"tables/g/a.toml": table(UTID), "tables/g/b.toml": table(UTID)})
    with pytest.raises(PerfcaseError, match=r"b\.toml: the key utid has another home"):
        load_keys(tmp_path)


def test_a_table_needs_no_description_of_a_key(tmp_path: Path) -> None:
    files = {
        "tables/g/a.toml": table(UTID),
        "tables/g/b.toml": table('name = "utid"\ntype = "u32"'),
        "tables/g/c.toml": table('name = "x"\ntype = "u32"'),
    }
    schema(tmp_path, files)
    assert parse_table(tmp_path / "tables/g/b.toml").columns == (
        Column("utid", "The thread; 0 is idle.", type="u32", nullable=False),
    )
    with pytest.raises(PerfcaseError, match=r"c\.toml: not a table description: 'x'"):
        parse_table(tmp_path / "tables/g/c.toml")

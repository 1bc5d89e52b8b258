"""perfcase info --private: which private data a capture holds."""

from __future__ import annotations

import json

import duckdb
import pytest

from perfcase.catalogue.privacy import load_privacy
from perfcase.catalogue.schema import load_tables
from perfcase.redaction import private
from perfcase.redaction.private import Rules, is_private
from tests.support.cli import perfcase
from tests.support.imports import SAMPLES, imported

SAMPLE = SAMPLES / "x86_64-scheduling" / "x.perfcase"


def test_every_column_of_text_is_classed() -> None:
    """A new column cannot be forgotten."""
    with duckdb.connect(str(imported(SAMPLE).folder / "case.duckdb"), read_only=True) as connection:
        of_views = connection.sql(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND data_type IN ('VARCHAR', 'BLOB')"
        ).fetchall()
    of_schema = [
        (table.name, column.name)
        for table in load_tables().values()
        for column in table.columns
        if column.sql_type in ("VARCHAR", "BLOB")
    ]
    unknown = set()
    for table, column in {*of_views, *of_schema}:
        try:
            load_privacy().class_of(table, column)
        except KeyError:
            unknown.add(f"{table}.{column}")
    assert not unknown


def test_no_column_is_classed_twice() -> None:
    listed = [column for each in load_privacy().classes.values() for column in each.columns] + list(
        load_privacy().public
    )
    assert len(listed) == len(set(listed))


def test_info_shows_the_classes() -> None:
    folder = imported(SAMPLE).folder
    found = json.loads(perfcase("info", "--private", "--json", folder).stdout)["private"]
    by_name = {each["class"]: each for each in found}
    assert by_name["host_name"]["examples"] == ["guest"]
    assert by_name["kernel_log"]["count"] == 374
    assert "DEMO-1" in by_name["note"]["examples"]
    shown = perfcase("info", "--private", folder)
    assert shown.returncode == 0
    assert "guest" in shown.stdout
    assert "Notes, tickets and labels" in shown.stdout


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("path", "/home/bob/a b", True), ("path", "/usr/lib/libc.so.6", False), ("path", "--key=/root/.ssh/id", True),
        ("control_group", "/system.slice", False), ("control_group", "/system.slice/db.service", True), ("control_group", "/", False),
        ("control_group", "memory:/", False), ("control_group", "cpu,cpuacct:/docker/1f", True), ("control_group", "/bank:/system.slice", True),
        ("address", "127.0.0.1:80", False), ("address", "[::ffff:127.0.0.1]:80", False), ("address", "[::1]:80", False),
        ("address", "52:54:00:12:34:56", True), ("address", "00:00:00:00:00:00", False), ("address", "[fe80::1]:22", True),
        ("address", "0.0.0.0:*", False), ("address", "10.0.0.1", True), ("argument", "/sbin/init", False),
        ("argument", "app --password=x", True), ("note", "", False), ("host_name", "a", True), ("path", "/home/\udcff", True),
    ],
)  # fmt: skip
def test_what_is_private(name: str, value: str, expected: bool) -> None:
    assert is_private(name, value, Rules()) is expected


def test_copies_of_memory_are_shown_by_their_beginning() -> None:
    shown = private._bytes("x")
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT unnest([repeat('ab', 8), repeat('ab', 500), repeat('ab', 499) || 'ac'])::BLOB AS x"
        )
        found = {value for (value,) in connection.execute(f"SELECT {shown} FROM t").fetchall()}
    assert "6162" * 8 in found
    assert len(found) == 3
    assert {len(value) for value in found} == {32, 32 + len("… of 1000 bytes, md5 ") + 32}

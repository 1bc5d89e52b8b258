"""Parameters of SQL: DuckDB binds what is typed, and it never becomes SQL; the page has the same rule of types."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import httpx
import pytest

from perfcase.case.values import typed, values_of
from perfcase.errors import PerfcaseError
from tests.api.conftest import SAMPLES, upload
from tests.support.cli import perfcase

TYPED = {
    "12": 12, "-3": -3, "+4": 4, " 12 ": 12, "1.5": 1.5, ".5": 0.5, "2.": 2.0, "1e3": 1000.0, "-1E-3": -0.001, "true": True, "FALSE": False,
    "null": None, "": "", " ": " ", "java": "java", "'12'": "12", "'it''s'": "it's", "'": "'", "''": "", "12a": "12a", "1_000": "1_000",
    "0x10": "0x10", "--": "--", "NaN": "NaN", "inf": "inf", "9" * 38: int("9" * 38), "9" * 39: float("9" * 39), "１２": "１２", "1e9999": "1e9999",
    "x' OR 1=1 --": "x' OR 1=1 --", "' OR '1'='1": "' OR '1'='1",
}  # fmt: skip


@pytest.mark.parametrize("text", TYPED)
def test_types_are_by_what_is_typed(text: str) -> None:
    value = typed(text)
    assert (value, type(value)) == (TYPED[text], type(TYPED[text]))


@pytest.mark.parametrize("given", [["x"], ["=1"], ["1=1"], ["a b=1"], ["a=1", "A=2"], ["$a=1"]])
def test_what_is_no_setting(given: list[str]) -> None:
    with pytest.raises(PerfcaseError, match="--set"):
        values_of(given)


def ask(client: httpx.Client, capture_id: str, sql: str, *given: str, **more: object) -> httpx.Response:
    return client.post("/v1/sql", json={"capture_id": capture_id, "sql": sql, "set": list(given), **more})


@pytest.mark.parametrize(
    "text", ["x' OR 1=1 --", "'; DROP TABLE t; --", "$comm", "$$", "\\", "\u202e", "<script>", '"', "x" * 1000]
)
def test_a_value_is_never_sql(admin: httpx.Client, tcp: str, text: str) -> None:
    answer = ask(
        admin, tcp, "SELECT $comm AS given, count(*) AS found FROM thread_time WHERE comm = $comm", f"comm={text}"
    )
    assert answer.status_code == 200, answer.text
    assert answer.json() == [{"capture_id": tcp, "given": typed(text), "found": 0}]


def test_formats_have_the_same_rows(admin: httpx.Client, tcp: str) -> None:
    sql = "SELECT comm, tid, $x AS x FROM thread_time WHERE tid > $least ORDER BY comm, tid LIMIT $n"
    given = ("least=0", "n=3", "x=1.5")
    found = ask(admin, tcp, sql, *given).json()
    assert len(found) == 3
    text = ask(admin, tcp, sql, *given, format="csv").text
    assert [row["comm"] for row in csv.DictReader(io.StringIO(text))] == [row["comm"] for row in found]
    for form in ("arrow", "parquet"):
        assert ask(admin, tcp, sql, *given, format=form).status_code == 200
    whole = admin.post("/v1/sql", json={"ticket": "OPS-1", "sql": sql, "set": list(given)}).json()
    assert [row for row in whole if row["capture_id"] == tcp] == found
    # Another value is another question; the same is answered from what was kept.
    assert len(ask(admin, tcp, sql, "least=0", "n=2", "x=1.5").json()) == 2
    assert ask(admin, tcp, sql, *given).headers["perfcase-bytes-read"] == "0"


def test_a_value_too_few_or_too_many(admin: httpx.Client, tcp: str) -> None:
    for given, why in (
        ((), "$comm has no value"),
        (("comm=x", "y=1"), "the query has no $y"),
        (("comm",), "is not NAME=VALUE"),
    ):
        refused = ask(admin, tcp, "SELECT 1 WHERE 'a' = $comm", *given)
        assert refused.status_code == 400
        assert why in refused.json()["error"]["message"]
    assert ask(admin, tcp, "SELECT $a", *(f"a{n}=1" for n in range(51))).status_code == 400


def test_the_command_line_has_the_same(admin: httpx.Client, tmp_path: Path) -> None:
    file = tmp_path / "pipe.perfcase"
    shutil.copy(SAMPLES / "d-nagle" / "pipe.perfcase", file)
    sql = "SELECT comm, tid FROM thread_time WHERE tid > $least ORDER BY comm, tid LIMIT $n"
    printed = perfcase("sql", file, sql, "--set", "least=0", "--set", "n=5", "--format", "json")
    number = upload(admin, file, ticket="OPS-1")
    told = ask(admin, number, sql, "least=0", "n=5").json()
    assert json.loads(printed.stdout) == [{k: v for k, v in row.items() if k != "capture_id"} for row in told]

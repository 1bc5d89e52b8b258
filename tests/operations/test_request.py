"""A request defines its fields once; the command line and the routes have the same fields."""

from __future__ import annotations

import dataclasses
import inspect
import json
import subprocess
import sys
from importlib import import_module

import pytest
from fastapi import FastAPI

from perfcase.errors import PerfcaseError
from perfcase.operations import diff, export, flamegraph, history, sql, view
from perfcase.operations.fields import Part
from perfcase.operations.request import BaseRequest, decode, encode, fields_of, operation_of
from perfcase_api.analysing import OPERATIONS
from perfcase_api.routes import analysis
from tests.support.cli import succeed

REQUESTS = {name: import_module(f"perfcase.operations.{name}").Request for name in OPERATIONS}
COMMANDS = ("diff", "export", "findings", "flamegraph", "history", "report", "sql", "summary", "view")


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_documented(name: str) -> None:
    module = import_module(f"perfcase.operations.{name}")
    assert module.__doc__
    assert module.run.__doc__
    assert REQUESTS[name].__doc__
    assert [field.name for field in fields_of(REQUESTS[name]) if not field.option.help] == []


@pytest.mark.parametrize(
    "asked",
    [
        view.Request(name="thread", settings=["a=1", "b=2"], limit=3),
        sql.Request(sql="SELECT 1", with_capture_id=True),
        export.Request(to="csv", view="thread"),
        history.Request(
            view="thread", agg="count", filed=(("OPS-1", ("a", "b")), ("", ())), known=((1, 2.0, None, None), None)
        ),
        Part(process=["java"], window="0s..1s"),
    ],
)
def test_a_request_crosses_a_pipe(asked: BaseRequest) -> None:
    assert decode(type(asked), json.loads(json.dumps(encode(asked)))) == asked
    assert hash(asked) == hash(dataclasses.replace(asked))


def test_what_a_program_asks_is_checked() -> None:
    for wrong, told in (
        (
            lambda: view.Request(name="thread", fmt="xml"),
            "fmt: xml is not one of table, csv, json, columns, arrow, parquet",
        ),
        (lambda: view.Request(name="thread", limit=-1), "limit: -1 is less than 0"),
        (lambda: view.Request(name="thread", offset=1 << 63), "offset: 9223372036854775808 is more than"),
        (lambda: view.Request(name=7), "name: 7 is not text"),
        (lambda: export.Request(to="csv", event="cycles"), "--event and --where choose samples"),
        (lambda: flamegraph.Request(wakers=True), "--wakers needs --off-cpu"),
    ):
        with pytest.raises(PerfcaseError, match=told) as caught:
            wrong()
        assert caught.value.kind == "usage"
    assert view.Request(name="thread", settings="a=1").settings == ("a=1",)
    assert Part(cpu=["0-3"], window="..1s").conditions() == ("window=..1s", "cpu=0-3")


def test_no_operation_loads_a_front() -> None:
    """What answers at a server parses no command line, and no route."""
    loads = "; ".join(f"import perfcase.operations.{name}" for name in OPERATIONS)
    code = f"import sys, perfcase_api.analysing; {loads}; print(*(m for m in sys.modules if m in ('typer', 'fastapi', 'perfcase.cli')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_a_request_knows_its_operation() -> None:
    assert {name: operation_of(cls(**needed(cls))) for name, cls in REQUESTS.items()} == {
        name: name for name in REQUESTS
    }


def needed(cls: type[BaseRequest]) -> dict[str, str]:
    """A value for each field that has to be said."""
    missing = (field for field in fields_of(cls) if field.default is dataclasses.MISSING)
    return {field.name: field.choices[0] if field.choices else "thread" for field in missing}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_has_each_field(name: str) -> None:
    told = " ".join(succeed(name, "--help").split())
    for field in fields_of(REQUESTS[name]):
        flag = field.option.metavar if field.option.is_argument else (field.option.flags or (f"--{field.name}",))[0]
        assert (flag or "").replace("/", " / ") in told, field.name
        assert f"{field.option.help}{field.option.besides}" in told, field.name
    # What only programs set is no option, not even a hidden one.
    module = import_module(f"perfcase.cli.{name}_command")
    own = {each.name for each in dataclasses.fields(REQUESTS[name])} - {
        field.name for field in fields_of(REQUESTS[name])
    }
    assert own.isdisjoint(inspect.signature(module.command).parameters)


def test_routes_have_the_same_fields() -> None:
    app = FastAPI()
    for router in (analysis.router, analysis.comparisons):
        app.include_router(router)
    paths = app.openapi()["paths"]
    for name, path in (
        ("view", "/v1/captures/{capture_id}/views/{name}"), ("findings", "/v1/captures/{capture_id}/findings"),
        ("flamegraph", "/v1/captures/{capture_id}/flamegraph"), ("export", "/v1/captures/{capture_id}/export"),
        ("diff", "/v1/diff"), ("history", "/v1/history"),
    ):  # fmt: skip
        listed = {each["name"]: each for each in paths[path]["get"]["parameters"]}
        for field in fields_of(REQUESTS[name]):
            if not field.option.is_of_terminals:
                given = listed[field.option.query or field.name]
                assert "--" not in given["description"], field.name
                assert "table" not in given["schema"].get("enum", ())
                if isinstance(field.default, bool):
                    assert given["schema"]["default"] == field.default


def test_what_goes_together_in_a_diff() -> None:
    asked = diff.Request(event="cycles")
    asked.check(has_other=True, is_part=False, has_stores=False, is_pictured=True)
    with pytest.raises(PerfcaseError, match="--event needs --flamegraph or --callers"):
        asked.check(has_other=True, is_part=False, has_stores=False)
    with pytest.raises(PerfcaseError, match="--baseline replaces the other capture"):
        diff.Request(baseline="x").check(has_other=True, is_part=False, has_stores=False)

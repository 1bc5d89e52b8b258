"""The import answers what a capture's first page and its time line ask: nothing is worked out when they are opened, and all is as if it were."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from perfcase_api.first_page import questions, step
from perfcase_api.question import Question
from tests.api.conftest import ROOT, SAMPLES, Running, start, upload
from tests.support.cli import perfcase

HOST = ROOT / "api" / "web" / "src" / "line" / "host.tsx"
CHART_ROWS = int(re.search(r"^const ROWS_MAX = ([\d_]+);", HOST.read_text(), re.MULTILINE)[1])  # type: ignore[index]
SEVERE = "level IN ('emerg', 'alert', 'crit', 'err', 'warn') AND is_in_capture"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, httpx.Client, str]]:
    running = start(tmp_path_factory.mktemp("first") / "store")
    with running.client() as client:
        yield running, client, upload(client, SAMPLES / "x86_64-scheduling" / "x.perfcase")
    running.stop()


def asked(client: httpx.Client, capture_id: str) -> Iterator[tuple[str, dict[str, object]]]:
    """What the pages of a capture and of its time line ask: the route, and its query."""
    yield "findings", {}
    yield "views/capture", {}
    yield "views/data_quality", {}
    yield "views/finding_coverage", {"where": "NOT is_judged"}
    yield "views/view_coverage", {"where": "kind = 'view'"}
    yield "views/kernel_log", {"where": SEVERE, "limit": 200}
    duration_ns = client.get(f"/v1/captures/{capture_id}").json()["duration_ns"]
    for view in client.get("/v1/schema").json()["views"]:
        for chart in view["charts"]:
            if chart["page"] in ("timeline", "lines"):
                finely = [f"interval_ns={step(duration_ns)}"] if "interval_ns" in view["parameters"] else []
                where = {"where": chart["where"]} if chart["where"] else {}
                query = {"limit": CHART_ROWS, "set": finely, "format": "columns", **where}
                yield f"views/{view['name']}", query


def test_it_is_there_before_it_is_asked_for(opened: tuple[Running, httpx.Client, str]) -> None:
    running, client, capture_id = opened
    before = {path.name for path in (running.store / "answers").iterdir()}
    case = running.store / "captures" / capture_id / "case"
    routes = [*asked(client, capture_id)]
    assert len(routes) > 10
    for route, query in routes:
        answer = client.get(f"/v1/captures/{capture_id}/{route}", params=query)
        assert answer.status_code == 200, route
        name = route.removeprefix("views/")
        words = [f"--{option}={value}" for option, value in {"format": "json", **query}.items() if option != "set"]
        words += [f"--set={value}" for value in query.get("set", [])]  # type: ignore[attr-defined]
        told = perfcase(*(["view", name] if name != route else [route]), case, *words)
        assert answer.text == told.stdout, route
    assert {path.name for path in (running.store / "answers").iterdir()} == before


def test_the_steps_are_those_of_the_page() -> None:
    """As ``step`` of api/web/src/line/series.ts says: round, and 400 of them or fewer."""
    assert [step(ns) for ns in (1, 400 * 10**6, 400 * 10**6 + 1, 10**9, 3 * 10**9, 60 * 10**9, 3600 * 10**9)] == [
        10**6, 10**6, 2 * 10**6, 5 * 10**6, 10**7, 2 * 10**8, 10**10,
    ]  # fmt: skip


def test_a_capture_without_times_has_no_time_line() -> None:
    for none in (None, 0, -1):
        names = [Question(each, ["x"]).order()["operation"] for each in questions(none)]
        assert names == ["findings", "view", "view", "view"]

"""The walks of docs/walks lead to their answers, with as many clicks as it says. ``--pictures`` writes the page and its pictures again."""

from __future__ import annotations

import base64

import httpx
import pytest

from tests.api.conftest import SAMPLES, upload
from tests.web.chromium import ROOT, Page
from tests.web.conftest import CALM, Site
from tests.web.walks import WALKS, Walk, walked

DOCS = ROOT / "docs" / "walks"
BEGIN, END = "<!-- walks -->\n", "<!-- end of walks -->\n"


@pytest.mark.parametrize("one", WALKS, ids=lambda one: one.name)
def test_a_walk_leads_to_its_answer(
    one: Walk, page: Page, site: Site, client: httpx.Client, request: pytest.FixtureRequest
) -> None:
    ids = {capture: upload(client, SAMPLES / f"{capture}.perfcase") for capture in one.captures}
    page.open("about:blank")
    page.open(site.at("captures"))
    page.until(CALM)
    walked(page, one, ids)
    if request.config.getoption("--pictures"):
        data = page.call("Page.captureScreenshot", format="webp", quality=60)["data"]
        (DOCS / f"{one.name}.webp").write_bytes(base64.b64decode(data))


def test_the_page_of_walks_tells_them(request: pytest.FixtureRequest) -> None:
    path = DOCS / "README.md"
    before, rest = path.read_text().split(BEGIN)
    after = rest.split(END)[1]
    text = before + BEGIN + "\n".join(map(told, WALKS)) + END + after
    if request.config.getoption("--pictures"):
        path.write_text(text)
    assert path.read_text() == text
    assert {one.name for one in WALKS} == {one.stem for one in DOCS.glob("*.webp")}


def told(one: Walk) -> str:
    captures = ", ".join(f"`{capture}.perfcase`" for capture in one.captures)
    ways = "; ".join(step.says for step in one.steps)
    return (
        f"## {one.question}\n\n{captures}. {one.clicks} click{'s' * (one.clicks > 1)}: {ways}.\n\n"
        f"Answer: `{one.answer}`.\n\n![{one.question}]({one.name}.webp)\n"
    )

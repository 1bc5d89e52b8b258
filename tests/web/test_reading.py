"""What is read first: sentences with figures at the top of a page, heads of columns in words with their definitions."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from tests.web.chromium import Page
from tests.web.conftest import Site

HEADS = """[...document.querySelectorAll('.table th button')].map((one) => [
  one.querySelector('.head-words').innerText.trim(), one.querySelector('.head-name')?.innerText ?? null, one.title])"""
ABOUT = "document.querySelector('.told')?.innerText"


@pytest.mark.parametrize("name", ["x86_64", "tcp"])
def test_the_first_thing_is_a_sentence_with_figures(
    name: str, page: Page, site: Site, client: httpx.Client, look: Callable
) -> None:
    """The sentence of each rule that fired, as the findings have it, leads to the rest of what they say."""
    capture = site.ids[name]
    found = client.get(f"/v1/captures/{capture}/findings").json()
    by_rule: dict[str, dict] = {}
    for row in found:
        by_rule.setdefault(row["finding"], row)
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/overview"))
    page.until(
        "document.querySelector('.headlines') && document.querySelector('.finding') && !document.querySelector('[aria-busy=true]')"
    )
    shown = page.see(
        "[...document.querySelectorAll('.headlines li')].map((one) =>"
        " [one.querySelector('strong').innerText, one.querySelector('.headline-figures').innerText])"
    )
    assert shown == [[row["title"], f"{row['subject']}: {row['message']}"] for row in by_rule.values()]
    assert all(any(char.isdigit() for char in figures) for _, figures in shown)
    look(f"headlines-{name}")
    page.click(".headlines button strong", shown[-1][0])
    last = list(by_rule)[-1]
    page.until(f"document.querySelector('[data-finding={last}]').getBoundingClientRect().top < innerHeight")


def test_heads_are_words_and_define_themselves(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    schema = client.get("/v1/schema").json()
    columns = {one["name"]: one for one in next(v for v in schema["views"] if v["name"] == "thread_time")["columns"]}
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['x86_64']}/views?view=thread_time"))
    page.until("document.querySelectorAll('.table tbody tr').length > 5")
    heads = page.see(HEADS)
    assert [name or words for words, name, _ in heads] == list(columns)
    assert not [words for words, _, _ in heads if "_" in words]
    told = {name or words: words for words, name, _ in heads}
    assert told["on_cpu_ns"] == "running time"
    assert told["run_queue_ns"] == "runnable time"
    assert told["on_cpu_ratio"] == "running share"
    assert told["switch_count"] == "switch count"
    assert told["run_delay_max_ns"] == "largest run delay time"
    look("heads")
    # By keys: into the table, to its first head, and along the heads.
    page.see("document.querySelector('.table').focus()")
    page.press("Tab")
    for column in list(columns)[:3]:
        page.until(f"{ABOUT}?.startsWith({column!r})")
        text = page.see(ABOUT)
        assert columns[column]["description"] in text
        assert (f"({columns[column]['unit']})" in text) == (columns[column]["unit"] is not None)
        place = page.see(
            "(({left, right, top}) => [left, right, top])(document.querySelector('.told').getBoundingClientRect())"
        )
        assert place[0] >= 0
        assert place[1] <= 1280
        page.press("ArrowRight")
    page.screenshot("head-definition")
    page.see("document.activeElement.blur()")
    page.until("!document.querySelector('.told')")
    # By a tap, which sorts, too.
    x, y = page.point(".table th button", "switch_count")
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    page.until(f"{ABOUT}?.startsWith('switch_count')")
    # With a mouse the definition is the title, and no text lies over the sorted rows.
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['x86_64']}/views?view=thread_time"))
    page.click(".table th button", "switch_count")
    page.until("location.hash.includes('sort=-switch_count') && !document.querySelector('[aria-busy=true]')")
    assert page.see("document.querySelector('.told')") is None


def test_every_column_has_a_head_of_words(page: Page, site: Site, client: httpx.Client) -> None:
    """No two columns of a view have the same head, for a reader would not know which is which."""
    schema = client.get("/v1/schema").json()
    for view in [
        v for v in schema["views"] if v["name"] in ("syscall_summary", "blame_by_comm", "memory", "off_cpu_by_stack")
    ]:
        page.open("about:blank")
        page.open(site.at(f"c/{site.ids['x86_64']}/views?view={view['name']}"))
        page.until("document.querySelectorAll('.table tbody tr').length > 0")
        heads = [words for words, _, _ in page.see(HEADS)]
        assert len(set(heads)) == len(heads) == len(view["columns"]), (view["name"], heads)

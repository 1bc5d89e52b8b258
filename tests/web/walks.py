"""Walks through the sample captures on the page: a question, what is clicked from the list of captures on, the answer that stands there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.web.chromium import Page
from tests.web.conftest import CALM
from tests.web.line import STATES, axis, settled, top


@dataclass(frozen=True)
class Step:
    """One click: in words, and as the browser does it. ``act`` has the ids of the captures too."""

    says: str
    act: Callable[[Page, dict[str, str]], None]


@dataclass(frozen=True)
class Walk:
    """``captures``: files below sample-captures. ``answer``: a text in an element of ``within`` that a reader sees after the last click."""

    name: str
    captures: tuple[str, ...]
    question: str
    steps: tuple[Step, ...]
    answer: str
    within: str = ".headlines"

    @property
    def clicks(self) -> int:
        return len(self.steps)


def click(text: str, selector: str = "a, button") -> Step:
    return Step(f"click **{text}**", lambda page, _ids: page.click(selector, text))


def opens(capture: str) -> Step:
    return Step(f"click **{capture}.perfcase**", lambda page, ids: page.click(f'.list-name a[href*="{ids[capture]}"]'))


def tick(capture: str) -> Step:
    return Step(
        f"tick the box of **{capture}.perfcase**",
        lambda page, ids: page.click(f'tr:has(a[href*="{ids[capture]}"]) input'),
    )


def sleep_of(thread: str, moment: float) -> Step:
    """A click on a thread's states, at a part of the recording."""

    def act(page: Page, _ids: dict[str, str]) -> None:
        settled(page)
        track = page.until(
            f"[...document.querySelectorAll('[data-track]')].find((one) => one.innerText.startsWith({thread!r}))?.dataset.track"
        )
        y = top(page, track)
        left, width = axis(page)
        page.click_at(left + width * moment, y + STATES)

    return Step(f"click on a wait of **{thread}**", act)


def walked(page: Page, one: Walk, ids: dict[str, str]) -> None:
    """From the list of captures to the answer."""
    for step in one.steps:
        step.act(page, ids)
        page.see("new Promise((done) => setTimeout(done, 100))")
        page.until(CALM)
    page.has(one.answer, one.within)


_POST = "c-blocking-call/post"
WALKS = (
    Walk(
        "neighbours", ("a-neighbours/crowded",), "The service became slow when it moved to this host. What takes its time?",
        (opens("a-neighbours/crowded"),),
        "/service: its threads waited 3.27 s for a CPU and ran 2.01 s, while /neighbours ran 6.29 s",
    ),
    Walk(
        "hog", ("aarch64-counters/x",), "Which thread ran most, and how long did it wait for a CPU?",
        (opens("aarch64-counters/x"), click("Threads", "nav a")), "1.51 s", ".table tbody",
    ),
    Walk(
        "padding", ("b-false-sharing/shared", "b-false-sharing/padded"), "Does the slow program spend its time elsewhere than the fast one?",
        (tick("b-false-sharing/shared"), tick("b-false-sharing/padded"), click("Compare", "button")),
        "same shape: overlap of the stacks 0.95", "main",
    ),
    Walk(
        "post", (_POST,), "A POST takes 164 ms and the service computes nothing. What does it wait for?",
        (opens(_POST),),
        "java (6244) to [::ffff:127.0.0.1]:18081: 155 answers took 151.9 ms on average",
    ),
    Walk(
        "waker", (_POST,), "Who ends the waits of an executor thread?",
        (opens(_POST), click("Time line", "nav a"), sleep_of("executor-7", 0.55)), "vert.x-eventloo", ".stretch-facts",
    ),
    Walk(
        "leak", ("d-leak/sessions",), "Memory grows, and a leak checker finds nothing. Who keeps it?",
        (opens("d-leak/sessions"), click("allocation_by_stack")), "main;remember_session;new_buffer", ".table tbody",
    ),
    Walk(
        "nagle", ("d-nagle/tcp",), "Which requests are late, and on which socket?",
        (opens("d-nagle/tcp"), click("System calls", "nav a"), click("Late answers")), "delayed_ack_40ms", ".table tbody",
    ),
    Walk(
        "probe", ("d-probe-load/alone", "d-probe-load/probed"), "A database is slower since it is watched. What is new?",
        (tick("d-probe-load/alone"), tick("d-probe-load/probed"), click("Compare", "button")),
        "B: database waits 95.5 ms/s more for a CPU that probe-agent had", "main",
    ),
    Walk(
        "disk", ("d-slow-disk/reader",), "Reads take a second now and then. When, and is it the disk?",
        (opens("d-slow-disk/reader"), click("when", ".headlines a")),
        "the longest of 401 requests took 2338.5 ms, the median 2.5 ms", ".line-panel",
    ),
    Walk(
        "callers", ("d-type-checks/server",), "Which function computes most in itself, and who calls it?",
        (opens("d-type-checks/server"), click("Flame graph", "nav a"), click("same_type")), "Object::IncRef", ".flame-of, main",
    ),
    Walk(
        "cache", ("e-page-cache/larger",), "Why is a file read from the disk that was just read?",
        (opens("e-page-cache/larger"),),
        "208.1 MiB of 208.1 MiB that were read from storage, 100.0 %, had been in memory and had been dropped",
    ),
    Walk(
        "preempted", ("x86_64-scheduling/x",), "Who takes the CPU from hog?",
        (opens("x86_64-scheduling/x"), click("preemptions")), "rcu_preempt", ".table tbody",
    ),
)  # fmt: skip

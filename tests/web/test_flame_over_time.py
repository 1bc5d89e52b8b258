"""The flame chart: every frame of a thread over time, worked out from its samples by another way; what the page shows of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest

from perfcase.case.opening import open_capture
from perfcase.text import duration, plural, ratio
from tests.api.conftest import wait_ready
from tests.support.imports import placed
from tests.web.chromium import Page
from tests.web.conftest import Site
from tests.web.script import run
from tests.web.test_flame import PAINTED, ROW, TOLD, corner

ROOT = Path(__file__).parents[2]
CALM = "!document.querySelector('[aria-busy=true], .waiting')"
EVENT = "cpu-clock/freq=99/"
SAMPLES = (
    "SELECT s.ts_ns, s.period, s.stack_id, CASE WHEN s.stack_id IS NULL THEN s.frame_id END AS frame_id, list(l.label ORDER BY e.position DESC)"
    " FROM sample AS s JOIN perf_event AS v USING (event_id) JOIN stack_entry AS e USING (stack_id) JOIN frame_label AS l ON l.frame_id = e.frame_id"
    " WHERE v.name = '{event}' AND s.utid = {utid} GROUP BY s.sample_id, s.ts_ns, s.period, s.stack_id, s.frame_id ORDER BY s.ts_ns, s.sample_id"
)
MADE = """
import { overTime } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { samples, chains, window, isTime } = JSON.parse(Buffer.concat(chunks).toString());
const { tree, undrawn } = overTime(samples, chains, window, { name: "all", isTime });
const nodes = [];
for (let node = 1; node < tree.size; node++)
  nodes.push([tree.depth[node], tree.start[node], tree.weight[node], tree.self[node], tree.label(node)]);
process.stdout.write(JSON.stringify({ nodes, undrawn, keys: new Set(tree.key).size, size: tree.size, found: tree.find(tree.key[tree.size - 1]) }));
"""
Frames = Sequence[str]


def chart(samples: list[tuple[int, int, Frames]], window: tuple[int, int], *, is_time: bool = True) -> dict:
    """What the page makes of samples: when, period, frames from the root."""
    known: dict[tuple[str, ...], int] = {}
    rows = [
        {"ts_ns": at, "period": period, "stack_id": known.setdefault(tuple(frames), len(known)), "frame_id": None}
        for at, period, frames in samples
    ]
    chains = [
        {"stack_id": number, "frame_id": None, "names": frames, "objects": ["x"] * len(frames), "kinds": ["user"] * len(frames), "sources": [""] * len(frames)}
        for frames, number in known.items()
    ]  # fmt: skip
    return run(
        "flame/time.ts", MADE, json.dumps({"samples": rows, "chains": chains, "window": window, "isTime": is_time})
    )


def expected(samples: list[tuple[int, int, Frames]], window: tuple[int, int]) -> list[list]:
    """The stretches of each sample, then the longest runs of equal paths at each depth."""
    stretches = []
    last = window[0]
    for number, (at, period, frames) in enumerate(samples):
        begin = max(at - period, last)
        if at <= begin:
            continue
        touches = number > 0 and bool(stretches) and begin - last <= period / 10
        stretches.append((last if touches else begin, at, tuple(frames), touches))
        last = at
    nodes = []
    for depth in range(1, max((len(frames) for *_, frames, _ in stretches), default=0) + 1):
        before: list | None = None
        path: tuple[str, ...] = ()
        for begin, end, frames, touches in stretches:
            if len(frames) < depth:
                before = None
                continue
            own = end - begin if len(frames) == depth else 0
            if before is not None and touches and frames[:depth] == path:
                before[2] += end - begin
                before[3] += own
            else:
                before = [depth, begin, end - begin, own, frames[depth - 1]]
                nodes.append(before)
            path = frames[:depth]
    return sorted(nodes)


def test_frames_by_hand() -> None:
    """Neighbours are one frame, and no frame goes over a gap, nor before a sample's period."""
    samples = [
        (10, 10, ["main", "a"]), (20, 10, ["main", "a", "b"]), (31, 10, ["main", "b"]),  # a gap of a tenth
        (50, 10, ["main", "b"]),  # after a gap of 9
        (52, 10, ["main", "c"]),  # two of what the one before stands for until 50
        (52, 10, ["main", "d"]),  # no time is left
    ]  # fmt: skip
    made = chart(samples, (5, 60))
    assert sorted(made["nodes"]) == [
        [1, 5, 26, 0, "main"],
        [1, 40, 12, 0, "main"],
        [2, 5, 15, 5, "a"],
        [2, 20, 11, 11, "b"],
        [2, 40, 10, 10, "b"],
        [2, 50, 2, 2, "c"],
        [3, 10, 10, 10, "b"],
    ]
    assert made["undrawn"] == 1
    # Frames of one path at two times are two for a link.
    assert made["keys"] == made["size"]
    assert made["found"] == made["size"] - 1
    assert chart([], (0, 10))["nodes"] == []
    # A period that is no time: the usual distance of two samples.
    counted = chart(
        [(10, 7_000_000, ["main"]), (20, 9_000_000, ["main"]), (50, 1, ["main"]), (60, 1, ["main"])],
        (0, 60),
        is_time=False,
    )
    assert sorted(counted["nodes"]) == [[1, 0, 20, 20, "main"], [1, 40, 20, 20, "main"]]


def test_every_frame_of_each_thread(tmp_path: Path) -> None:
    with open_capture(placed(ROOT / "sample-captures" / "x86_64-scheduling" / "x.perfcase", tmp_path)) as case:
        threads = case.connection.execute(
            "SELECT utid FROM sample JOIN perf_event USING (event_id) WHERE name = ? AND stack_id IS NOT NULL"
            " GROUP BY utid ORDER BY count(*) DESC, utid LIMIT 12",
            [EVENT],
        ).fetchall()
        ((end,),) = case.connection.execute("SELECT duration_ns FROM capture").fetchall()
        several = 0
        for (utid,) in threads:
            rows = case.connection.execute(SAMPLES.format(event=EVENT, utid=utid)).fetchall()
            samples = [(at, period, frames) for at, period, _, _, frames in rows]
            # The last samples come after what the capture says is its end.
            window = 0, max(end, samples[-1][0])
            made = chart(samples, window)
            assert sorted(made["nodes"]) == expected(samples, window)
            several += sum(weight > 15_000_000 for _, _, weight, *_ in made["nodes"])
            # Never more than the samples stand for and a tenth of each.
            seen = sum(weight for depth, _, weight, *_ in made["nodes"] if depth == 1)
            assert 0 < seen <= 1.1 * sum(period for _, period, _ in samples)
    assert several > 100


def shown(page: Page, client: httpx.Client, capture: str) -> tuple[dict, list[dict]]:
    """The thread that the page shows at first, and its samples."""
    (thread,) = client.post("/v1/sql", json={"capture_id": capture, "sql":
        "SELECT s.utid, t.comm, t.tid, count(*) AS n FROM sample AS s JOIN perf_event AS v USING (event_id) JOIN thread AS t USING (utid)"
        f" WHERE v.name = '{EVENT}' AND t.tid <> 0 GROUP BY ALL ORDER BY n DESC, s.utid LIMIT 1"}).json()  # fmt: skip
    names = ["ts_ns", "period", "stack_id", "frame_id", "frames"]
    sql = SAMPLES.format(event=EVENT, utid=thread["utid"]).replace("DESC) FROM", "DESC) AS frames FROM")
    rows = client.post("/v1/sql", json={"capture_id": capture, "sql": sql}).json()
    assert {*names} <= {*rows[0]}
    return thread, rows


def test_a_thread_over_time(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame"))
    page.until(PAINTED)
    page.click(".flame-modes button", "Over time")
    thread, rows = shown(page, client, capture)
    ((length),) = (row["duration_ns"] for row in client.get(f"/v1/captures/{capture}/views/capture").json())
    name = f"{thread['comm']} ({thread['tid']})"
    page.until(f"{CALM} && {TOLD} === {f'{name}: {duration(length)}, 100.0 % of all; begins at 0.000000 s'!r}")
    assert (
        page.see("document.querySelector('.flame-thread').selectedOptions[0].innerText")
        == f"{name}, {plural(thread['n'], 'sample')}"
    )
    frames = expected([(row["ts_ns"], row["period"], row["frames"]) for row in rows], (0, length))
    seen = sum(weight for depth, _, weight, *_ in frames if depth == 1)
    page.has(f"Seen: {duration(seen)} ({ratio(seen / length)})", ".flame-graph")
    look("flame-over-time")
    # By keys to the first frame, which is where the table begins.
    page.see("document.querySelector('.flame-box').focus()")
    page.press("ArrowDown")
    page.press("ArrowLeft")
    longest = max((frame for frame in frames if frame[0] == 1), key=lambda frame: (frame[2], -frame[1]))
    page.see("document.querySelector('.flame-box').focus()")
    page.press("Home")
    page.press("ArrowDown")
    page.until(f"{TOLD}.startsWith({f'{longest[4]}: {duration(longest[2])}, '!r})")
    page.until(f"{TOLD}.endsWith({f'; begins at {longest[1] / 1e9:.6f} s'!r})")
    page.press("Enter")
    page.until("location.hash.includes('at=')")
    # Marks at round moments, each where its moment is.
    ticks = page.see(
        "[...document.querySelectorAll('.flame-ticks span')].map((one) => [one.innerText, one.offsetLeft / one.parentElement.clientWidth])"
    )
    assert len(ticks) > 2
    assert all(len(text) < 13 for text, _ in ticks)
    for text, at in ticks:
        moment = float(text.removesuffix(" s")) * 1e9
        assert at == pytest.approx((moment - longest[1]) / longest[2], abs=0.003)
    look("flame-over-time-zoomed")
    page.press("Escape")
    page.until("!location.hash.includes('at=')")
    page.click(".flame-tools button", "As a table")
    page.until(f"document.querySelector('.flame-graph table')?.getAttribute('aria-rowcount') === '{len(frames)}'")
    page.fill(".flame-search", longest[4])
    hits = [frame for frame in frames if longest[4].lower() in frame[4].lower()]
    page.until(f"document.querySelector('.flame-graph table').getAttribute('aria-rowcount') === '{len(hits)}'")
    page.screenshot("flame-over-time-table", whole=True)
    link = page.see("location.href")
    page.open("about:blank")
    page.open(link)
    page.until(
        f"{CALM} && document.querySelector('.flame-graph table')?.getAttribute('aria-rowcount') === '{len(hits)}'"
    )


def test_what_is_short_in_a_long_time_is_seen_and_found(page: Page, site: Site, client: httpx.Client) -> None:
    """In a narrow window a sample has a fifth of a pixel. It is drawn, and the mouse finds it."""
    capture = site.ids["x86_64"]
    thread, rows = shown(page, client, capture)
    page.resize(400)
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame?as=time"))
    page.until(f"{CALM} && {TOLD}?.startsWith('{thread['comm']} (')")
    page.until("document.querySelector('.flame-canvas')?.dataset.painted")
    # The pixels of the row below the root that are not as the paper is.
    marked = page.see(
        "((canvas) => { const {data} = canvas.getContext('2d').getImageData(0, 18 + 8, canvas.width, 1);"
        " const pixels = [...Array(canvas.width).keys()].map((x) => data.slice(4 * x, 4 * x + 3).join());"
        " return pixels.flatMap((one, x) => one === pixels[0] ? [] : [x]); })(document.querySelector('.flame-canvas'))"
    )
    ((length),) = (row["duration_ns"] for row in client.get(f"/v1/captures/{capture}/views/capture").json())
    frames = [
        frame
        for frame in expected([(r["ts_ns"], r["period"], r["frames"]) for r in rows], (0, length))
        if frame[0] == 1
    ]
    width = page.see("document.querySelector('.flame-canvas').width")
    wanted = {int(begin / length * width) for _, begin, weight, *_ in frames if weight / length * width < 1}
    assert len(wanted) > 20
    assert wanted <= set(marked)
    x, y, _ = corner(page)
    page.mouse("mouseMoved", x + min(wanted) + 0.5, y + 1.5 * ROW)
    page.has("begins at", ".flame-tip")
    first = min(frame for frame in frames if int(frame[1] / length * width) == min(wanted))
    page.has(f"{first[1] / 1e9:.6f} s", ".flame-tip")


def test_a_window_and_another_thread(page: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["x86_64"]
    part = {"capture_id": capture, "window": "5s..6s"}
    threads = client.post("/v1/sql", json={**part, "sql":
        "SELECT s.utid, t.comm, t.tid, count(*) AS n FROM sample AS s JOIN perf_event AS v USING (event_id) JOIN thread AS t USING (utid)"
        f" WHERE v.name = '{EVENT}' AND t.tid <> 0 GROUP BY ALL ORDER BY n DESC, s.utid"}).json()  # fmt: skip
    assert len(threads) > 2
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame?as=time&window=5s..6s&utid={threads[1]['utid']}"))
    told = f"{threads[1]['comm']} ({threads[1]['tid']}): 1 s, 100.0 % of all; begins at 5.000000 s"
    page.until(f"{CALM} && {TOLD} === {told!r}")
    options = page.see("[...document.querySelectorAll('.flame-thread option')].map((one) => one.innerText)")
    assert options == [f"{one['comm']} ({one['tid']}), {plural(one['n'], 'sample')}" for one in threads]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("event=sched%3Asched_switch", "are moments: none of them stands for a time"),
        ("window=..1ns", "nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_says_why(asked: str, said: str, page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['x86_64']}/flame?as=time&{asked}"))
    page.until(f"/{said}|no samples/.test(document.querySelector('main')?.innerText)")
    # A refusal is on the browser's console as well.
    page.problems[:] = [problem for problem in page.problems if "404" not in problem]


def test_a_hostile_thread_is_text(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['hostile']}/flame?as=time"))
    page.until(f"{CALM} && document.querySelector('main').innerText.includes('are moments')")
    page.open(site.at(f"c/{site.ids['hostile']}/flame?as=time&merge=1"))
    page.until(CALM)
    assert page.see("document.title") != "hit"


def test_what_was_not_recorded_is_hatched_and_what_was_is_not(page: Page, site: Site, client: httpx.Client) -> None:
    """In ``x86_64`` perf began 5.2 s after the recorder: blank there would say that the thread did nothing."""
    capture = site.ids["x86_64"]
    (span,) = client.get(
        f"/v1/captures/{capture}/views/recorded_span", params={"where": "table_name = 'sample'"}
    ).json()
    ((length),) = (row["duration_ns"] for row in client.get(f"/v1/captures/{capture}/views/capture").json())
    assert span["start_ts_ns"] > 5e9
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame?as=time"))
    page.until(f"{CALM} && document.querySelector('.flame-canvas')?.dataset.painted")
    page.has("Hatched: nothing was recorded.", ".flame-graph")
    # The columns of the last row, which no frame fills, in which some pixel is not as the paper is.
    marked = page.see(
        "((canvas) => { const high = canvas.height; const {data} = canvas.getContext('2d').getImageData(0, high - 16, canvas.width, 14);"
        " const at = (x, y) => data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3).join();"
        " const paper = at(canvas.width - 1, 0); return [...Array(canvas.width).keys()].map((x) => [...Array(14).keys()].some((y) => at(x, y) !== paper)); })"
        "(document.querySelector('.flame-canvas'))"
    )
    edge = span["start_ts_ns"] / length * len(marked)
    assert all(marked[: int(edge) - 2])
    # Behind it there are frames in this row, and paper.
    assert not all(marked[int(edge) + 2 : int(edge) + 60])
    # Within what was recorded nothing is hatched, and nobody says that it is.
    page.open(site.at(f"c/{capture}/flame?as=time&window=6s..7s"))
    page.until(f"{CALM} && document.querySelector('.flame-canvas')?.dataset.painted")
    page.has("there the thread was not seen.", ".flame-graph")
    assert "Hatched" not in page.see("document.querySelector('.flame-graph').innerText")


THREADS = 301


@pytest.fixture(scope="module")
def many(client: httpx.Client) -> str:
    """A capture with more threads than are listed: number N has 1 + N mod 7 samples."""
    moments = sorted(
        (10 + (number * 7 + step) * 0.01, number) for number in range(1, THREADS + 1) for step in range(1 + number % 7)
    )
    text = "\n".join(
        f"worker-{number} {1000 + number} [000] {at:.6f}:   10000000 cpu-clock: \n"
        f"\t    55d0000010a0 spin_{number}+0x10 (/usr/bin/worker)\n\t    55d0000020a0 main+0x10 (/usr/bin/worker)\n"
        for at, number in moments
    )
    sent = client.post("/v1/captures", params={"name": "many.txt"}, content=text.encode()).json()["capture_id"]
    assert wait_ready(client, sent)["state"] == "ready"
    return sent


def test_every_thread_is_found_among_very_many(page: Page, site: Site, many: str, look: Callable) -> None:
    options = "[...document.querySelectorAll('.flame-thread option')].map((one) => one.innerText)"
    chosen = "document.querySelector('.flame-thread')?.selectedOptions[0]?.innerText"
    page.open("about:blank")
    page.open(site.at(f"c/{many}/flame?as=time&event=cpu-clock"))
    page.until(f"{CALM} && {chosen}")
    assert len(page.see(options)) == 200
    page.has(f"The 200 of {THREADS} threads with the most samples are listed", ".flame-threads")
    # The least of all by its name.
    page.fill("[aria-label='Find threads']", "Worker-7")
    page.press("Enter")
    page.until(f"{CALM} && {chosen}?.startsWith('worker-7')")
    wanted = [number for number in range(1, THREADS + 1) if "worker-7" in f"worker-{number}"]
    assert sorted(page.see(options)) == sorted(
        f"worker-{number} ({1000 + number}), {plural(1 + number % 7, 'sample')}" for number in wanted
    )
    page.has(f"{len(wanted)} threads with this in the name", ".flame-threads")
    look("flame-threads")
    page.fill("[aria-label='Find threads']", "1301")
    page.press("Enter")
    page.until(f"{CALM} && {chosen} === 'worker-301 (1301), 1 sample'")
    page.until(f"{TOLD}?.startsWith('worker-301 (1301)')")
    # A link has it: that of a thread that is not among those listed, too.
    page.see("document.querySelector('.flame-thread').dispatchEvent(new Event('change', {bubbles: true}))")
    page.until("location.hash.includes('utid=')")
    address = page.see("location.href")
    page.open("about:blank")
    page.open(address.replace("named=1301", "named="))
    page.until(f"{CALM} && {chosen} === 'worker-301 (1301), 1 sample'")
    assert len(page.see(options)) == 201
    # What is sought is text, and that there is none is said; the field stays.
    page.fill("[aria-label='Find threads']", "%' OR 1 = 1 --")
    page.press("Enter")
    page.has("No thread that was sampled in this part of the capture has this in its name.")
    assert page.see("document.querySelector('.flame-thread')") is None

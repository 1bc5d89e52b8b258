"""The time line: its tracks, what is under the cursor, what a click tells, how it is moved. Figures against the views."""

from __future__ import annotations

import base64
import json
import lzma
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from perfcase.case.scope import parse_part
from perfcase.text import duration
from tests.api.conftest import SAMPLES, upload, wait_ready
from tests.web.chromium import Page
from tests.web.conftest import Site, rows, sql
from tests.web.line import (
    CALLS,
    CAUSES,
    FIGURES,
    NAMES,
    SAID,
    STATES,
    at,
    axis,
    opened,
    param,
    pixel,
    settled,
    titles,
    top,
)

DATA = Path(__file__).parents[2] / "tests" / "data" / "captures"


def length_of(client: httpx.Client, capture: str) -> int:
    return rows(client, capture, "capture")[0]["duration_ns"]


def client_of(client: httpx.Client, capture: str) -> dict:
    """The busiest thread of the client in the capture ``tcp``."""
    return rows(client, capture, "thread_time", order="on_cpu_ns DESC, utid", where="coalesce(pid, 1) <> 0",
                process="order-client")[0]  # fmt: skip


def test_the_overview_chooses_a_part(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    opened(page, site.at(f"c/{capture}/overview"))
    assert titles(page) == ["CPU", "Run queue", "Disks", "Memory", "Network"]
    page.has("Not in this capture: Instructions per cycle", ".line-missing")
    page.click(".line-missing summary")
    (told,) = rows(client, capture, "view_coverage", where="view_name = 'pmcarch'")
    page.has(told["reason"], ".line-missing")
    length = length_of(client, capture)
    y = top(page, "chart:cpu_utilization.timeline.1")
    left, width = axis(page)
    page.mouse("mouseMoved", left + width / 2, y + 30)
    # What is beside the lines is the figure of the interval that the cursor is in.
    (busy,) = rows(client, capture, "cpu_utilization", columns="busy_ratio",
                   where=f"cpu = 'all' AND {length // 2} BETWEEN ts_ns AND ts_ns + interval_ns")  # fmt: skip
    page.until(
        f"{FIGURES.format(track='chart:cpu_utilization.timeline.1')}[0] === '{busy['busy_ratio']:.1%}'.replace('%', ' %')"
    )
    page.drag((left + 0.25 * width, y + 20), (left + 0.5 * width, y + 20))
    page.until("location.hash.includes('window=')")
    part = parse_part(param(page, "window"))
    # A pixel either way.
    assert abs(part.start_ns - 0.25 * length) < 2 * length / width
    assert abs(part.end_ns - 0.5 * length) < 2 * length / width
    page.has("chosen", ".time-line")
    look("timeline")
    # The page moves while the figures of the part come in.
    settled(page)
    y, before = top(page, "chart:cpu_utilization.timeline.1"), None
    while y != before:
        time.sleep(0.3)
        y, before = top(page, "chart:cpu_utilization.timeline.1"), y
    page.click_at(axis(page)[0] + 30, y + 20, count=2)
    page.until("!location.hash.includes('window=')")


def test_a_bare_recording_has_what_its_switches_tell(page: Page, site: Site, client: httpx.Client) -> None:
    """Without /proc the CPUs' shares are those of the switches, and what is missing is said with what would record it."""
    data = lzma.decompress((DATA / "aarch64" / "offcpu.data.xz").read_bytes())
    capture = client.post("/v1/captures", params={"name": "bare.data"}, content=data).json()["capture_id"]
    assert wait_ready(client, capture)["state"] == "ready"
    opened(page, site.at(f"c/{capture}/overview"))
    assert titles(page)[:2] == ["CPU, by switches", "Run queue"]
    page.click(".line-missing summary")
    (told,) = rows(client, capture, "view_coverage", where="view_name = 'memory' AND kind = 'view'")
    page.has(told["reason"], ".line-missing")
    page.has(told["how"], ".line-missing")
    y = top(page, "chart:run_queue_length.timeline.1")
    left, width = axis(page)
    page.mouse("mouseMoved", left + 0.6 * width, y + 20)
    page.until(f"/^[0-9.]+ %$/.test({FIGURES.format(track='chart:run_queue_length.timeline.1')}[0])")


def test_tracks_are_found_folded_and_pinned(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    opened(page, site.at(f"c/{capture}/timeline"))
    seen = titles(page)
    host = seen.index("▾ Host 5")
    assert seen[host + 1 : host + 6] == ["CPU", "Run queue", "Disks", "Memory", "Network"]
    assert "▸ More of the host 3" in seen
    assert {"▾ CPUs 2", "CPU 0", "CPU 1"} <= set(seen)
    look("line")
    page.click(".line-group .line-title", "Host")
    page.until("document.querySelector('[data-track=host]').innerText.startsWith('▸')")
    assert "Memory" not in titles(page)
    page.click(".line-group .line-title", "More of the host")
    page.has("Pressure", ".line-labels")
    # All threads whose own name or whose process has the text, and nothing else.
    page.fill(".line-find", "hog")
    page.until("location.hash.includes('tracks=hog')")
    settled(page)
    hogs = rows(client, capture, "thread_time", where="comm = 'hog'")
    assert sorted(titles(page)) == sorted(f"hog {row['tid']}" for row in hogs)
    hog = titles(page)[1]
    page.see(f"document.querySelector('[aria-label=\"Pin {hog}\"]').click()")
    page.until("location.hash.includes('pin=')")
    page.fill(".line-find", "")
    page.until("!location.hash.includes('tracks=')")
    settled(page)
    assert titles(page)[:2] == ["▾ Pinned 1", hog]
    # A link has all of it.
    address = page.see("location.href")
    before = titles(page)
    opened(page, address)
    assert titles(page) == before


def test_a_wait_is_told_with_who_ended_it(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["tcp"]
    thread, length = client_of(client, capture), length_of(client, capture)
    opened(page, site.at(f"c/{capture}/timeline"))
    (sleep,) = sql(client, capture, "SELECT s.ts_ns, s.duration_ns, s.run_queue_ns, s.waker_utid, f.folded, k.comm, k.tid FROM followed_state AS s"
                   " JOIN stack_folded AS f USING (stack_id) JOIN thread AS k ON k.utid = s.waker_utid"
                   f" WHERE s.utid = {thread['utid']} AND state = 'sleeping' ORDER BY s.duration_ns DESC LIMIT 1")  # fmt: skip
    y = top(page, f"t:{thread['utid']}")
    middle = at(page, sleep["ts_ns"] + sleep["duration_ns"] / 2, length)
    page.mouse("mouseMoved", middle, y + STATES)
    page.has(f"sleeping, {duration(sleep['duration_ns'])}", ".line-tip")
    page.click_at(middle, y + STATES)
    page.has(f"{thread['comm']} {thread['tid']}", ".line-panel h2")
    page.has(duration(sleep["duration_ns"]), ".stretch-facts")
    page.has(f"{sleep['comm']} {sleep['tid']}", ".stretch-facts")
    chain = page.until("[...document.querySelector('.chain').children].map((one) => one.innerText)")
    assert chain == sleep["folded"].split(";")[::-1]
    look("line-wait", whole=True)
    # The piece is in the address: a link shows it. Z shows it in full width.
    opened(page, page.see("location.href"))
    page.has(duration(sleep["duration_ns"]), ".stretch-facts")
    page.see("document.querySelector('.line').focus()")
    page.press("z")
    page.until("location.hash.includes('zoom=')")
    zoom = parse_part(param(page, "zoom"))
    assert abs((zoom.end_ns - zoom.start_ns) / sleep["duration_ns"] - 1.1) < 0.02
    settled(page)
    # The path that led to its end: another thread's time is outlined on that one's track.
    before = page.see("document.querySelector('.line-above').toDataURL()")
    page.click(".line-panel label input")
    page.until("location.hash.includes('path=')")
    page.until(f"document.querySelector('.line-above').toDataURL() !== {before!r}")
    page.screenshot("line-path")
    # Who ended it has a track of its own, which is where that leads.
    page.click(".stretch-facts .stretch-thread")
    page.until(f"location.hash.includes('pick=t%3A{sleep['waker_utid']}.states')")
    page.has(f"{sleep['comm']} {sleep['tid']}", ".line-panel h2")


def test_the_arrow_of_a_waker_stands_at_its_moment(page: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["tcp"]
    thread = client_of(client, capture)
    (wait,) = sql(client, capture, f"SELECT ts_ns, duration_ns, waker_utid, waker_context FROM followed_state WHERE utid = {thread['utid']} AND state = 'sleeping'"
                  f" AND waker_utid <> utid ORDER BY duration_ns DESC LIMIT 1")  # fmt: skip
    end = wait["ts_ns"] + wait["duration_ns"]
    half = wait["duration_ns"] // 2
    opened(page, site.at(f"c/{capture}/timeline?zoom={(end - half) / 1e9:.9f}s..{(end + half) / 1e9:.9f}s"
                         f"&pick=t:{thread['utid']}.states@{end - half // 2}"))  # fmt: skip
    page.has("Woken by", ".stretch-facts")
    # Its other end sent over loopback.
    assert wait["waker_context"] == "softirq"
    page.has("in a soft interrupt", ".stretch-facts")
    settled(page)
    left, width = axis(page)
    own, waker = (
        page.see(f"document.querySelector('[data-track=\"t:{utid}\"]').offsetTop")
        for utid in (thread["utid"], wait["waker_utid"])
    )
    between = round((own + waker) / 2) + 8
    painted = page.see(
        f"(() => {{ const above = document.querySelector('.line-above'); const line = above.getContext('2d').getImageData(0, {between}, above.width, 1).data;"
        " const found = []; for (let x = 0; x < above.width; x++) if (line[4 * x + 3] > 200) found.push(x); return found; })()"
    )
    painted = [x for x in painted if x > NAMES + 2]
    assert painted, "an arrow between the two tracks"
    assert all(abs(x - (NAMES + width / 2)) < 4 for x in painted), (painted, width)
    assert left > 0


def test_what_a_wait_was_for(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["tcp"]
    thread, length = client_of(client, capture), length_of(client, capture)
    opened(page, site.at(f"c/{capture}/timeline"))
    for kind in ("another thread", "a CPU", "a disk", "another end", "a sleep or a timeout", "one with nothing to do"):
        page.has(kind, ".lanes-legend")
    (wait,) = rows(client, capture, "blame_part", where=f"utid = {thread['utid']} AND waker_tid IS NOT NULL",
                   order="duration_ns DESC, ts_ns", limit=1)  # fmt: skip
    y = top(page, f"t:{thread['utid']}")
    middle = at(page, wait["ts_ns"] + wait["duration_ns"] / 2, length)
    page.mouse("mouseMoved", middle, y + CAUSES)
    page.has(f"waited {duration(wait['duration_ns'])} for {wait['due']}", ".line-tip")
    page.screenshot("line-cause-tip")
    page.click_at(middle, y + CAUSES)
    page.has(f"Waited {duration(wait['duration_ns'])} for", ".stretch h3")
    page.has(wait["due"], ".stretch-causes li")
    page.has(f"in {wait['call']} on {wait['target']}", ".stretch-causes li")
    look("line-causes", whole=True)
    page.click(".stretch-causes .stretch-thread", f"{wait['waker_comm']} {wait['waker_tid']}")
    page.until(f"location.hash.includes('pick=t%3A{wait['waker_utid']}')")


def test_calls_are_told_as_strace_prints_them(page: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["tcp"]
    thread, length = client_of(client, capture), length_of(client, capture)
    (call,) = sql(client, capture, "SELECT ts_ns, duration_ns, name FROM syscall WHERE utid = "
                  f"{thread['utid']} AND pairing = 'strict' ORDER BY duration_ns DESC LIMIT 1")  # fmt: skip
    (line,) = rows(client, capture, "syscall_log", where=f"utid = {thread['utid']} AND ts_ns = {call['ts_ns']}", columns="text")  # fmt: skip
    opened(page, site.at(f"c/{capture}/timeline"))
    y = top(page, f"t:{thread['utid']}")
    page.mouse("mouseMoved", x := at(page, call["ts_ns"] + call["duration_ns"] / 2, length), y + CALLS)
    page.has(f"{call['name']}, {duration(call['duration_ns'])}", ".line-tip")
    page.click_at(x, y + CALLS)
    page.has(line["text"].split("(")[0], ".line-calls li")
    page.has(line["text"].split(" = ")[0].strip(), ".line-calls")


def test_a_cpu_tells_who_ran(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    length = length_of(client, capture)
    opened(page, site.at(f"c/{capture}/timeline"))
    (run,) = sql(client, capture, "SELECT ts_ns, duration_ns, s.utid, cpu, t.comm, t.tid FROM followed_state AS s JOIN thread AS t USING (utid)"
                 " WHERE state = 'running' AND NOT is_open ORDER BY duration_ns DESC LIMIT 1")  # fmt: skip
    y = top(page, f"cpu:{run['cpu']}")
    page.mouse("mouseMoved", x := at(page, run["ts_ns"] + run["duration_ns"] / 2, length), y + 9)
    page.has(f"{run['comm']} {run['tid']} ran {duration(run['duration_ns'])}", ".line-tip")
    page.click_at(x, y + 9)
    page.has(f"CPU {run['cpu']}", ".line-panel h2")
    # Its flame graph is of this thread, on this CPU, in this time.
    page.click(".line-tabs button", "Flame graph")
    page.until("location.hash.includes('panel=flame')")
    settled(page)
    wanted = [url for url in page.requests if "flamegraph?" in url][-1]
    assert f"cpu={run['cpu']}" in wanted
    assert f"thread={run['tid']}" in wanted
    assert "window=" in wanted
    look("line-cpu", whole=True)
    page.click(".line-tabs button", "This piece")
    page.click(".line-panel .stretch-thread", f"{run['comm']} {run['tid']}")
    page.until(f"location.hash.includes('pick=t%3A{run['utid']}')")


def test_the_panel_is_of_what_is_chosen(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    """A part and a thread: the panel has the rows that the views have with these filters."""
    capture = site.ids["tcp"]
    thread = client_of(client, capture)
    opened(page, site.at(f"c/{capture}/timeline?window=2s..3s&pick=t:{thread['utid']}&panel=syscalls"))
    page.until("document.querySelectorAll('.line-panel tbody tr').length > 0")
    settled(page)
    shown = page.see(
        "[...document.querySelectorAll('.line-panel tbody tr')].map((one) => one.innerText.split('\\t')[2]?.trim())"
    )
    wanted = rows(client, capture, "syscall_summary", window="2s..3s", thread=str(thread["tid"]), order="duration_total_ns DESC")  # fmt: skip
    assert shown == [row["name"] for row in wanted]
    look("line-panel", whole=True)
    page.click(".line-tabs a")
    page.until("location.hash.includes('/syscalls?')")
    assert param(page, "window") == "2s..3s"
    assert param(page, "thread") == str(thread["tid"])


def test_it_is_moved_by_keys_wheel_and_buttons(page: Page, site: Site) -> None:
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline"))
    page.see("document.querySelector('.line').focus()")
    page.mouse("mouseMoved", 5, 5)

    def rested() -> tuple[int, int]:
        """The part that is seen: the address has it when it rests."""
        settled(page)
        part = parse_part(param(page, "zoom"))
        return part.start_ns, part.end_ns

    page.press("w")
    page.until("location.hash.includes('zoom=')")
    begin, end = rested()
    first = end - begin
    page.press("w")
    low, high = rested()
    assert abs(first / (high - low) - 1.5) < 0.01
    page.press("s")
    page.press("d")
    assert rested()[0] > begin
    page.press("a")
    assert abs(rested()[0] - begin) < first / 1000
    # As close as a microsecond, and the axis says so.
    for _ in range(60):
        page.press("+")
    low, high = rested()
    assert abs(high - low - 1000) < 2
    page.screenshot("line-microsecond")
    page.press("Escape")
    page.until("!location.hash.includes('zoom=')")
    left, width = axis(page)
    y = top(page, "cpu:0")
    page.mouse("mouseWheel", left + width / 4, y, deltaX=0, deltaY=-120, modifiers=2)
    page.until("location.hash.includes('zoom=')")
    page.click("button", "Zoom out")
    page.until("!location.hash.includes('zoom=')")
    page.drag((left + 0.6 * width, y), (left + 0.7 * width, y))
    page.until("location.hash.includes('window=')")
    page.click("button", "Zoom to the chosen part")
    page.until("location.hash.includes('zoom=')")
    assert param(page, "zoom") == param(page, "window")


def test_all_of_it_by_keys(page: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["tcp"]
    opened(page, site.at(f"c/{capture}/timeline?turn=findings&turn=host&turn=cpus"))
    thread = client_of(client, capture)
    page.see("document.querySelector('.line').focus()")
    for _ in range(5):
        page.press("ArrowDown")
    page.until(f"{SAID}.startsWith('{thread['comm']} {thread['tid']}')")
    page.press("ArrowDown")
    page.until(f"{SAID}.includes('system calls')")
    page.press("ArrowDown")
    page.until(f"{SAID}.includes('what it waited for')")
    page.press("ArrowRight")
    page.until("document.querySelector('.stretch-causes')")
    (first, *_) = rows(
        client, capture, "blame_lane", where=f"utid = {thread['utid']}", order="ts_ns", set="buckets=2400"
    )
    page.until(f"{SAID}.includes({'waited ' + duration(first['wait_ns'])!r})")
    assert first["due"] in page.see(SAID)
    page.press("p")
    page.until("location.hash.includes('pin=')")
    page.press("Escape")
    page.until("!location.hash.includes('pick=')")
    # A group opens with Enter.
    for _ in range(9):
        page.press("ArrowUp")
    page.press("ArrowDown")
    page.press("ArrowDown")


def test_a_part_that_is_not_there_yet_is_not_hatched(page: Page, site: Site) -> None:
    """What was not asked for yet is dim: hatching says that nothing was recorded."""
    capture = site.ids["x86_64"]
    opened(page, site.at(f"c/{capture}/timeline?turn=host&zoom=9s..9.01s"))
    with page.hold("*/views/*"):
        page.see("document.querySelector('.line').focus()")
        for _ in range(30):
            page.press("s")
        page.see("new Promise((done) => setTimeout(done, 200))")
        assert page.see("document.querySelector('.line').dataset.detail") == "awaited"
        page.screenshot("line-awaited")
        y = top(page, "cpu:0") - page.see("document.querySelector('.line-canvas').getBoundingClientRect().y")
        left, width = axis(page)
        assert left
        veil, paper = (pixel(page, NAMES + width * part, y + 8) for part in (0.8, 0.9))
        assert veil == paper
        assert veil[3] == 255, "dim all over, no lines on nothing"
    settled(page)
    page.problems.clear()


def test_heat_maps_count_what_the_views_count(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    length = length_of(client, capture)
    opened(page, site.at(f"c/{capture}/timeline?turn=host&turn=heat"))
    seen = titles(page)
    assert {"▾ Heat maps 4", "Waits for a CPU", "System calls", "Disk requests"} <= set(seen)
    assert any(title.startswith("Samples of cpu-clock") for title in seen)
    look("line-heat")
    # The cell with the most waits.
    (most, *_) = rows(client, capture, "latency_heat_map", where="kind = 'run queue'", set="buckets=300", order="end_count DESC, ts_ns", limit=1)  # fmt: skip
    lows = [row["length_min_ns"] for row in rows(client, capture, "latency_heat_map", where="kind = 'run queue'", set="buckets=300", limit=10000)]  # fmt: skip
    row = (most["length_min_ns"] // min(lows)).bit_length() - 1
    count = (max(lows) // min(lows)).bit_length()
    y = top(page, "heat:run_queue") + 3 + 100 * (1 - (row + 0.5) / count)
    page.mouse("mouseMoved", at(page, most["ts_ns"] + most["interval_ns"] / 2, length), y)
    page.has(f"{most['end_count']:,} waits for a CPU of {duration(most['length_min_ns'])} to {duration(most['length_max_ns'])}", ".line-tip")  # fmt: skip
    page.screenshot("line-heat-tip")
    # From a fiftieth of a second to one of another second: what FlameScope's two clicks choose.
    y = top(page, "heat:samples")
    left, width = axis(page)
    begin = (left + (9.5e9 / length) * width, y + 3 + 100 * (1 - 10.5 / 50))
    end = (left + (10.5e9 / length) * width, y + 3 + 100 * (1 - 30.5 / 50))
    page.drag(begin, end)
    page.until("location.hash.includes('window=')")
    assert param(page, "window") == "9.2s..10.6s"


def test_findings_are_marked_and_lead_there(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = upload(client, SAMPLES / "d-slow-disk" / "reader.perfcase")
    length = length_of(client, capture)
    findings = client.get(f"/v1/captures/{capture}/findings").json()
    opened(page, site.at(f"c/{capture}/overview"))
    leads = page.see("[...document.querySelectorAll('.headline-when')].map((one) => one.getAttribute('href'))")
    assert len(leads) == len({one["finding"] for one in findings})
    page.click(".headline-when")
    page.until("location.hash.includes('/timeline?')")
    settled(page)
    first = findings[0]
    assert titles(page)[:2] == [f"▾ Findings {len(leads)}", first["title"]]
    page.has(first["message"], ".line-panel")
    look("line-finding")
    # Each moment of its rows has a mark that tells the row; without moments the mark is of the whole recording.
    checked = set()
    for finding in {one["finding"]: one for one in findings}.values():
        evidence = sql(client, capture, finding["evidence"])
        timed = [row for row in evidence if row.get("ts_ns") is not None]
        y = top(page, f"finding:{finding['finding']}")
        moment = timed[0]["ts_ns"] if timed else length / 3
        page.mouse("mouseMoved", at(page, moment, length) + 1, y + 12)
        page.has(
            f"{moment / 1e9:.6f} s" if timed else f"figures of the whole recording: {finding['subject']}", ".line-tip"
        )
        checked.add(bool(timed))
    assert True in checked
    # While its rows are awaited nothing is marked; where they cannot be had that is said, and nothing is made of it.
    finding = next(one["finding"] for one in findings if "ts_ns" in one["evidence"])
    page.open("about:blank")
    with page.hold("*/v1/sql*"):
        page.open(site.at(f"c/{capture}/timeline"))
        page.until(f"document.querySelector('[data-track=\"finding:{finding}\"]')")
        page.see("new Promise((done) => setTimeout(done, 300))")
        y = top(page, f"finding:{finding}") + 12
        page.mouse("mouseMoved", at(page, length / 3, length), y)
        page.see("new Promise((done) => setTimeout(done, 100))")
        assert not page.see("document.querySelector('.line-tip')")
        assert page.see("document.querySelector('.line').dataset.detail") == "awaited"
        body = '{"error": {"kind": "timeout", "message": "stopped after 120 s of CPU time", "hint": null}}'
        # The mouse stands still: what it is on is told when the answer comes.
        page.release(responseCode=504, body=base64.b64encode(body.encode()).decode())
        page.has("when is not known: stopped after 120 s of CPU time", ".line-tip")
    page.problems.clear()


def test_a_host_of_very_many_cpus_loses_nothing_in_silence(page: Page, site: Site, client: httpx.Client) -> None:
    """A chart has at most 100,000 rows: beyond the last of them it is dim, not hatched, and that is said."""
    capture = site.ids["x86_64"]
    length = length_of(client, capture)
    step = 50_000_000
    # 400 CPUs: the rows reach to 12.5 s.
    each = [(at * step, cpu) for at in range(250) for cpu in range(400)]
    same = {"interval_ns": step, "waiting_avg_count": 0.5, "busy_ratio": 0.5}
    every = {"ts_ns": [at for at, _ in each], "cpu": [cpu for _, cpu in each]}
    every |= {name: [value] * len(each) for name, value in same.items()}
    page.open("about:blank")
    with page.hold("*/views/run_queue_length*"):
        page.open(site.at(f"c/{capture}/overview"))
        deadline = time.time() + 20
        while not page.held and time.time() < deadline:
            page.see("new Promise((done) => setTimeout(done, 50))")
        page.release(responseCode=200, body=base64.b64encode(json.dumps(every).encode()).decode())
    settled(page)
    page.has("Run queue: too many rows", ".time-line")
    y = top(page, "chart:run_queue_length.timeline.2")
    y -= page.see("document.querySelector('.line-canvas').getBoundingClientRect().y")
    _, width = axis(page)
    end = step * 250 / length
    veil = [pixel(page, NAMES + width * part, y + 20) for part in (0.77 * end, 1.1 * end, 0.95)]
    assert veil[0][3] == 0, "nothing is between the lines where they are known"
    assert veil[1] == veil[2]
    assert veil[1][3] == 255, "dim where they are not"


def test_a_process_is_chosen_by_its_row(page: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["x86_64"]
    opened(page, site.at(f"c/{capture}/timeline?turn=host"))
    groups = page.see("[...document.querySelectorAll('.line-group')].map((one) => one.dataset.track)")
    (process, *_) = [group for group in groups if group.startswith("p:")]
    y = top(page, process)
    left, width = axis(page)
    page.click_at(left + width / 2, y + 12)
    page.until(f"location.hash.includes('pick={process.replace(':', '%3A')}')")
    page.has(f"Process {process[2:]}", ".line-panel h2")
    settled(page)
    assert any(f"process={process[2:]}" in url for url in page.requests if "flamegraph?" in url)


def test_a_zoom_that_is_none_shows_all(page: Page, site: Site) -> None:
    for zoom in ("100s..200s", "5s..5s", "9s..3s", "x", "-1s..2s"):
        opened(page, site.at(f"c/{site.ids['x86_64']}/timeline?zoom={zoom}&pick=t:999.states@5&turn=host&tracks="))
        page.has("0.0 to 17.5 s: 17.5 s", ".line-head")

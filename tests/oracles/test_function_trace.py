"""The function tracer's events against `trace-cmd report`, which names them by the same kallsyms; page_cache added up from them.

page_cache is cachestat's arithmetic (https://github.com/brendangregg/perf-tools/blob/master/fs/cachestat and bcc's, which
takes writeback_dirty_folio where account_page_dirtied cannot be traced) on the calls that the report prints.
"""

from __future__ import annotations

from collections import Counter

from tests.oracles.captures import Recorded, recorded_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import trace_cmd

SECOND = 1_000_000_000


def traced() -> tuple[Recorded, list[trace_cmd.Event]]:
    (capture,) = recorded_with("trace-functions")
    return capture, trace_cmd.events(capture.text("trace-functions"))


def test_every_call(case_of) -> None:
    capture, events = traced()
    calls = [e for e in events if e.name == "function"]
    # trace-cmd names an address by the last symbol before it, data (block_depr) too: that caller is no function.
    unclear = {e.time_ns for e in calls if e.fields["parent_ip"] == "block_depr"}
    theirs = Counter(
        (e.time_ns, e.cpu, e.tid, e.fields["ip"], None if e.time_ns in unclear else e.fields["parent_ip"])
        for e in calls
    )
    ours = Counter(
        (*row, None if row[0] in unclear else caller)
        for *row, caller in case_of(capture).rows("""
            SELECT c.ts_ns + p.start_clock_ns, c.cpu, t.tid, f.symbol, k.symbol
            FROM capture AS p, "function" AS c JOIN thread AS t USING (utid) JOIN stack AS s USING (stack_id)
            JOIN frame AS f ON f.frame_id = s.frame_ids[1] JOIN frame AS k ON k.frame_id = s.frame_ids[2]
        """)
    )
    assert len(unclear) == 12
    assert sum(theirs.values()) > 10_000
    assert_same(ours, theirs, "calls")


def test_hits_and_misses_of_each_second(case_of) -> None:
    capture, events = traced()
    case = case_of(capture)
    start = case.value("SELECT start_clock_ns FROM capture")
    calls: dict[int, Counter] = {}
    for event in events:
        second = (event.time_ns - start) // SECOND * SECOND
        calls.setdefault(second, Counter())[event.fields["ip"] if event.name == "function" else event.name] += 1
    theirs = []
    for second in range(0, max(calls) + 1, SECOND):
        count = calls.get(second, Counter())
        total = max(0, count["folio_mark_accessed"] - count["mark_buffer_dirty"])
        misses = max(0, count["filemap_add_folio"] - count["writeback_dirty_folio"])
        hits, misses = max(0, total - misses), min(misses, total)
        theirs.append(
            (second, "function trace", hits, misses, count["mark_buffer_dirty"], hits / total if total else None)
        )
    ours = case.rows("SELECT ts_ns, method, hit_count, miss_count, dirty_count, hit_ratio FROM page_cache")
    assert ours == theirs
    # 24 × 64 KiB were read from the disk once after the caches had been dropped.
    assert sum(row[3] for row in theirs) >= 384

"""page_cache and working_set by filemap tracepoints against the text of `trace-cmd report`: every page is counted again here.

No tool prints these figures from a file: cachestat counts live, and the published table of one of its runs is a case of
tests/views/memory/page_cache.test. Here the pages are followed one by one through the report, by the view's definition.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.oracles.captures import Recorded, recorded_with
from tests.oracles.tools import trace_cmd

ADDED, REMOVED, DIRTIED = "mm_filemap_add_to_page_cache", "mm_filemap_delete_from_page_cache", "writeback_dirty_folio"
RECORDED = [c for c in recorded_with("trace-cmd") if f" {ADDED}: " in c.text("trace-cmd")]
EACH = pytest.mark.parametrize("capture", RECORDED, ids=lambda capture: capture.id)
SECOND = 1_000_000_000


def pages(capture: Recorded) -> list[tuple[str, int, int, str, int, int, bool]]:
    """(event, time, tid, device, inode, page, made dirty by its thread within a second) of each page."""
    events = [e for e in trace_cmd.events(capture.text("trace-cmd")) if e.name in (ADDED, REMOVED, DIRTIED)]
    dirtied: dict[tuple[int, int, int], list[int]] = {}
    for event in events:
        if event.name == DIRTIED:
            key = (event.tid, number(event, "ino"), number(event, "index"))
            dirtied.setdefault(key, []).append(event.time_ns)
    found = []
    for event in events:
        if event.name == DIRTIED:
            found.append(
                (event.name, event.time_ns, event.tid, "", number(event, "ino"), number(event, "index"), False)
            )
            continue
        inode, page, device = number(event, "i_ino"), number(event, "index"), number(event, "s_dev")
        later = [t for t in dirtied.get((event.tid, inode, page), []) if 0 <= t - event.time_ns <= SECOND]
        name = f"{device >> 20},{device & 0xFFFFF}"
        assert number(event, "order") == 0 if "order" in event.fields else True
        found.append((event.name, event.time_ns, event.tid, name, inode, page, bool(later)))
    return found


def number(event: trace_cmd.Event, field: str) -> int:
    return trace_cmd.number(field, event.fields[field])


@EACH
def test_misses_and_dirty_pages_of_each_second(capture: Recorded, case_of) -> None:
    case = case_of(capture)
    start = case.value("SELECT start_clock_ns FROM capture")
    missed, dirty = Counter(), Counter()
    for name, time_ns, _, _, _, _, is_written in pages(capture):
        second = (time_ns - start) // SECOND * SECOND
        missed[second] += name == ADDED and not is_written
        dirty[second] += name == DIRTIED
    ours = case.rows("SELECT ts_ns, method, hit_count, miss_count, dirty_count FROM page_cache")
    assert ours == [(ts, "filemap", None, missed[ts], dirty[ts]) for ts, *_ in ours]
    assert sum(row[3] for row in ours) == missed.total() > 0
    assert sum(row[4] for row in ours) == dirty.total() > 0


@EACH
def test_every_file(capture: Recorded, case_of) -> None:
    case = case_of(capture)
    comm_of = dict(
        case.rows("SELECT t.tid, coalesce(p.name, t.comm) FROM thread AS t LEFT JOIN process AS p USING (upid)")
    )
    files: dict[tuple, list[int]] = {}
    for name, _, tid, device, inode, page, is_written in pages(capture):
        if name == DIRTIED:
            continue
        row = files.setdefault((comm_of[tid], device, inode), [0, 0, 0, 0])
        row[0] += name == ADDED and not is_written
        row[1] += name == ADDED and is_written
        row[2] += name == REMOVED
        row[3] = max(row[3], page + 1)
    ours = case.rows("""
        SELECT process, device, inode, sum(read_pages)::BIGINT, sum(written_pages)::BIGINT, sum(removed_pages)::BIGINT,
            max(extent_pages)::BIGINT
        FROM working_set GROUP BY ALL
    """)
    assert {row[:3]: list(row[3:]) for row in ours} == files

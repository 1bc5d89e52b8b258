"""What storage does: how long requests took, and whether reads were served from memory."""

from __future__ import annotations

from perfcase.report.page import Column, Page
from perfcase.terminal.drawing import spark, with_gaps
from perfcase.text import count, duration, plural, ratio, size

VIEW = "block_latency"
TITLE = "Storage: requests and the page cache"

_TOP = 8


def write(page: Page) -> None:
    rows = page.rows("SELECT * FROM block_latency ORDER BY device, operation, bucket_min_ns")
    (seen,) = page.rows("SELECT count(*) AS requests FROM block_io") if page.has_view("block_io") else [{"requests": 0}]
    if rows:
        _latency(page, rows)
    elif seen["requests"]:
        page.line(
            f"{plural(seen['requests'], 'block request')}, none of which was seen both to go to the device and to end: a"
            " recording of some processes has few of the ends",
            "dim",
        )
        page.source("block_io")
    else:
        page.missing("Block requests", "block_latency")
    _page_cache(page)


def _latency(page: Page, rows: list[dict]) -> None:
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault((row["device_name"] or row["device"], row["operation"]), []).append(row)
    busiest = sorted(groups.items(), key=lambda item: -sum(row["latency_total_ns"] for row in item[1]))[:_TOP]
    shown = []
    for (device, operation), of_group in busiest:
        number, total = sum(row["request_count"] for row in of_group), sum(row["latency_total_ns"] for row in of_group)
        buckets = with_gaps((row["bucket_min_ns"], row["bucket_max_ns"], row["request_count"]) for row in of_group)
        counts = [float(bucket[2]) for bucket in buckets]
        picture = f"{duration(buckets[0][0])} {spark(counts, max(counts), 40)} {duration(buckets[-1][1])}"
        longest = max(row["latency_max_ns"] for row in of_group)
        shown.append([device, operation, number, total, total / number if number else None, longest, picture])
    page.table(
        [
            Column("device", left=True),
            Column("operation", left=True),
            Column("requests", count),
            Column("total", duration),
            Column("mean", duration),
            Column("longest", duration),
            Column("distribution", left=True),
        ],
        shown,
    )
    page.source("block_latency")


def _page_cache(page: Page) -> None:
    rows = page.rows_of(
        "page_cache",
        "SELECT method, sum(hit_count) AS hits, sum(miss_count) AS misses, sum(dirty_count) AS dirtied,"
        " sum(miss_bytes) AS read, max(cache_bytes) AS cache FROM page_cache GROUP BY method ORDER BY method",
    )
    for row in rows:
        if row["misses"] is None:
            continue
        hits = "hits are not known"
        if row["hits"] is not None and row["hits"] + row["misses"]:
            hits = f"{count(row['hits'])} hits ({ratio(row['hits'] / (row['hits'] + row['misses']))})"
        page.line(
            f"Page cache ({row['method']}): {count(row['misses'])} misses ({size(row['read'])} read), {hits},"
            f" {count(row['dirtied'])} pages dirtied; the cache held up to {size(row['cache'])}"
        )
    if rows:
        page.source("page_cache")

"""What storage does: how long requests took, and whether reads were served from memory."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import Page, Row
from perfcase.report.pictures import distribution
from perfcase.text import count, ratio, size

VIEW = "block_summary"
TITLE = "Storage: requests and the page cache"

_TOP = 8
_COLUMNS = {
    "name": Column("device", left=True),
    "operation": Column("operation", left=True),
    "timed_count": Column("requests", "count"),
    "latency_total_ns": Column("total", "ns"),
    "latency_avg_ns": Column("mean", "ns"),
    "latency_max_ns": Column("longest", "ns"),
    "distribution": Column("distribution", left=True),
}


def write(page: Page) -> None:
    rows = page.select("block_summary", order="latency_total_ns DESC NULLS LAST, device, operation")
    named = [{**row, "name": row["device_name"] or row["device"]} for row in rows]
    timed = [row for row in named if row["timed_count"]]
    if timed:
        _latency(page, timed[:_TOP])
    elif named:
        seen = ", ".join(f"{row['name']} {row['operation']} {count(row['request_count'])}" for row in named)
        page.line(
            f"Block requests: {seen}; none of them was seen both to go to the device and to end: a recording of some processes has"
            " few of the ends",
            "quiet",
        )
        page.source("block_summary")
    else:
        page.missing("Block requests", "block_summary")
    _page_cache(page)


def _latency(page: Page, rows: list[Row]) -> None:
    buckets: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for row in page.select("block_latency"):
        bucket = (row["bucket_min_ns"], row["bucket_max_ns"], row["request_count"])
        buckets.setdefault((row["device"], row["operation"]), []).append(bucket)
    pictures = {key: distribution(drawn) for key, drawn in buckets.items()}
    page.table(_COLUMNS, [{**row, "distribution": pictures.get((row["device"], row["operation"]))} for row in rows])
    page.source("block_summary")
    page.source("block_latency")


def _page_cache(page: Page) -> None:
    rows = page.select("page_cache_summary", order="method")
    for row in rows:
        if row["miss_count"] is None:
            continue
        hits = "hits are not known"
        if row["hit_ratio"] is not None:
            hits = f"{count(row['hit_count'])} hits ({ratio(row['hit_ratio'])})"
        page.line(
            f"Page cache ({row['method']}): {count(row['miss_count'])} misses ({size(row['miss_bytes'])} read), {hits},"
            f" {count(row['dirty_count'])} pages dirtied; the cache held up to {size(row['cache_max_bytes'])}"
        )
    if rows:
        page.source("page_cache_summary")

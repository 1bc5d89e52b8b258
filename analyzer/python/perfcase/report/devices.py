"""iostat, free, sar: disks, memory, network."""

from __future__ import annotations

from perfcase.report.page import Column, Page
from perfcase.text import count, duration, plural, ratio, size

_TOP = 5


def iostat(page: Page) -> None:
    """Print the active disks: means over the capture, and the worst interval."""
    page.tool_table(
        "iostat",
        "disk_utilization",
        "SELECT device, sum(read_count) * 1e9 / sum(interval_ns) AS reads, sum(write_count) * 1e9 / sum(interval_ns) AS writes,"
        " sum(read_bytes) * 1e9 / sum(interval_ns) AS read_bytes, sum(write_bytes) * 1e9 / sum(interval_ns) AS write_bytes,"
        " max(read_await_ns) AS read_await, max(write_await_ns) AS write_await, max(queue_length) AS queue,"
        " sum(busy_ns) AS busy_ns, sum(busy_ns) / sum(interval_ns) AS util, max(util_ratio) AS peak"
        " FROM disk_utilization GROUP BY device HAVING sum(read_count) + sum(write_count) > 0"
        f" ORDER BY busy_ns DESC, device LIMIT {_TOP}",
        [
            Column("disk", left=True, limit=20),
            Column("reads/s", count),
            Column("writes/s", count),
            Column("read/s", size),
            Column("written/s", size),
            Column("worst r_await", duration),
            Column("worst w_await", duration),
            Column("longest queue", "{:.1f}".format),
            Column("busy", duration),
            Column("share", ratio),
            Column("busiest interval", ratio),
        ],
        "no disk was used",
    )


def free(page: Page) -> None:
    """Print the memory at the end of the capture, and at its minimum."""
    rows = page.rows_of(
        "memory",
        "SELECT m.*, min(available_bytes) OVER () AS least, max(dirty_bytes) OVER () AS dirtiest FROM memory AS m"
        " QUALIFY row_number() OVER (ORDER BY ts_ns DESC) = 1",
    )
    if not rows:
        page.absent("free", "memory")
        return
    row = rows[0]
    swap = f"swap {size(row['swap_used_bytes'])} of {size(row['swap_total_bytes'])} used"
    if not row["swap_total_bytes"]:
        swap = "no swap"
    page.tool(
        "free",
        f"{size(row['used_bytes'])} of {size(row['memory_bytes'])} used, {size(row['available_bytes'])} available"
        f" ({ratio(row['available_ratio'])}; at least {size(row['least'])} during the capture), cache"
        f" {size(row['cache_bytes'])}, dirty up to {size(row['dirtiest'])}, {swap}",
        "memory",
    )


def sar_dev(page: Page) -> None:
    """Print the active network interfaces."""
    page.tool_table(
        "sar -n DEV",
        "net_utilization",
        "SELECT interface, sum(rx_packet_count) * 1e9 / sum(interval_ns) AS rx, sum(tx_packet_count) * 1e9 / sum(interval_ns) AS tx,"
        " sum(rx_bytes) * 1e9 / sum(interval_ns) AS rx_bytes, sum(tx_bytes) * 1e9 / sum(interval_ns) AS tx_bytes,"
        " sum(rx_error_count) + sum(tx_error_count) AS errors, sum(rx_drop_count) + sum(tx_drop_count) AS drops, max(util_ratio) AS util"
        " FROM net_utilization GROUP BY interface"
        " HAVING sum(rx_packet_count) + sum(tx_packet_count) + sum(rx_error_count) + sum(tx_error_count) + sum(rx_drop_count) + sum(tx_drop_count) > 0"
        f" ORDER BY sum(rx_bytes) + sum(tx_bytes) DESC, interface LIMIT {_TOP}",
        [
            Column("interface", left=True, limit=20),
            Column("received/s", count),
            Column("sent/s", count),
            Column("received/s", size),
            Column("sent/s", size),
            Column("errors", count),
            Column("drops", count),
            Column("busiest interval", ratio),
        ],
        "no interface carried a packet",
    )


def sar_tcp(page: Page) -> None:
    """Print connections, retransmits and refusals."""
    rows = page.rows_of(
        "tcp_activity",
        "SELECT count(*) AS intervals, sum(active_open_count) AS active, sum(passive_open_count) AS passive,"
        " sum(retransmit_count) AS again, sum(out_segment_count) AS sent, sum(listen_drop_count) AS refused,"
        " max(retransmit_ratio) AS worst FROM tcp_activity",
    )
    if not rows or not rows[0]["intervals"]:
        page.absent("sar -n TCP", "tcp_activity")
        return
    row = rows[0]
    refused = f"; {plural(row['refused'], 'connection')} refused by full queues" if row["refused"] else ""
    again = f"{count(row['again'])} of {plural(row['sent'], 'segment')} sent again"
    if row["again"]:
        again += f" (up to {ratio(row['worst'])} in an interval)"
    page.tool(
        "sar -n TCP",
        f"{plural(row['active'], 'connection')} opened, {count(row['passive'])} accepted; {again}{refused}",
        "tcp_activity",
    )

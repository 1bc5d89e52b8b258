"""iostat, free, sar: disks, memory, network."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import Page
from perfcase.text import count, plural, ratio, size

_TOP = 5

_DISKS = {
    "device": Column("disk", left=True, limit=20),
    "read_per_s": Column("reads/s", "1/s"),
    "write_per_s": Column("writes/s", "1/s"),
    "read_bytes_per_s": Column("read/s", "bytes/s"),
    "write_bytes_per_s": Column("written/s", "bytes/s"),
    "read_await_max_ns": Column("worst r_await", "ns"),
    "write_await_max_ns": Column("worst w_await", "ns"),
    "queue_max_count": Column("longest queue", "count", "{:.1f}".format),
    "busy_ns": Column("busy", "ns"),
    "busy_ratio": Column("share", "ratio"),
    "busy_max_ratio": Column("busiest interval", "ratio"),
}
_INTERFACES = {
    "interface": Column("interface", left=True, limit=20),
    "rx_packet_per_s": Column("received/s", "1/s"),
    "tx_packet_per_s": Column("sent/s", "1/s"),
    "rx_bytes_per_s": Column("received/s", "bytes/s"),
    "tx_bytes_per_s": Column("sent/s", "bytes/s"),
    "error_count": Column("errors", "count"),
    "drop_count": Column("drops", "count"),
    "util_max_ratio": Column("busiest interval", "ratio"),
}


def iostat(page: Page) -> None:
    """Write the active disks: means over the capture, and the worst interval."""
    rows = page.select("disk_summary", order="busy_ns DESC, device", limit=_TOP)
    page.check_table("iostat", "disk_summary", rows, _DISKS, "no disk was used")


def free(page: Page) -> None:
    """Write the memory at the end of the capture, and at its minimum."""
    row = page.first("memory_summary")
    if row is None:
        page.absent("free", "memory_summary")
        return
    swap = f"swap {size(row['swap_used_last_bytes'])} of {size(row['swap_total_bytes'])} used"
    if not row["swap_total_bytes"]:
        swap = "no swap"
    page.check(
        "free",
        f"{size(row['used_last_bytes'])} of {size(row['memory_bytes'])} used, {size(row['available_last_bytes'])} available"
        f" ({ratio(row['available_last_ratio'])}; at least {size(row['available_min_bytes'])} during the capture), cache"
        f" {size(row['cache_last_bytes'])}, dirty up to {size(row['dirty_max_bytes'])}, {swap}",
        "memory_summary",
    )


def sar_dev(page: Page) -> None:
    """Write the active network interfaces."""
    rows = page.select("net_summary", where="netns_inode IS NULL", order="link_bytes DESC, interface", limit=_TOP)
    page.check_table("sar -n DEV", "net_summary", rows, _INTERFACES, "no interface carried a packet")


def sar_tcp(page: Page) -> None:
    """Write connections, retransmits and refusals."""
    row = page.first("tcp_summary", where="netns_inode IS NULL")
    if row is None:
        page.absent("sar -n TCP", "tcp_summary")
        return
    again = f"{count(row['retransmit_count'])} of {plural(row['out_segment_count'], 'segment')} sent again"
    if row["retransmit_count"]:
        again += f" (up to {ratio(row['retransmit_max_ratio'])} in an interval)"
    dropped = ""
    if row["listen_drop_count"]:
        dropped = (
            f"; {plural(row['listen_drop_count'], 'connection request')} dropped by listening sockets,"
            f" {count(row['listen_overflow_count'])} because an accept queue was full"
        )
    opened = f"{plural(row['active_open_count'], 'connection')} opened, {count(row['passive_open_count'])} accepted"
    page.check("sar -n TCP", f"{opened}; {again}{dropped}", "tcp_summary")

"""The first 60 seconds: what one would type first on a host in trouble, answered from the capture.

After "Linux Performance Analysis in 60,000 Milliseconds" (Netflix, 2015), in its order.
"""

from __future__ import annotations

from perfcase.report import devices, kernel_log, processes, uptime
from perfcase.report.page import Page

TITLE = "The first 60 seconds"

CHECKS = (
    uptime.uptime, kernel_log.dmesg, uptime.vmstat, uptime.mpstat, processes.pidstat, devices.iostat, devices.free,
    devices.sar_dev, devices.sar_tcp, processes.top,
)  # fmt: skip


def write(page: Page) -> None:
    for check in CHECKS:
        check(page)

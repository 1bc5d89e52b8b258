"""docs/alarms.md: each alarm of netdata is once in it, with the rules that say it, or with why it is not judged."""

from __future__ import annotations

import re
from pathlib import Path

from perfcase.catalogue.rules import load_rules
from perfcase.catalogue.views import load_views

PAGE = (Path(__file__).parents[2] / "docs" / "alarms.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| `")]
FILES = re.findall(
    r"\w+",
    """adaptec_raid apcupsd btrfs cgroups cpu dcgm disks docker entropy file_descriptors ioping ipc ipmi linux_power_supply
    load lvm mdstat megacli memory net netfilter nvme processes qos ram softnet storcli swap synchronization systemdunits
    tcp_conn tcp_listen tcp_mem tcp_orphans tcp_resets timex udp_errors upsd zfs""",
)
"""The files of netdata's health.d: what is about a Linux host and raises something."""


def test_each_alarm_is_once_in_it() -> None:
    alarms = [name for alarm, *_ in ROWS for name in re.findall(r"`([^`]+)`", alarm)]
    assert len(alarms) == len(set(alarms)) > 80
    files = {name for alarm, *_ in ROWS for name in re.findall(r"(\w+)\.conf", alarm)}
    assert sorted(set(FILES) - files) == []


def test_each_has_a_rule_or_a_reason() -> None:
    known = load_rules().keys() | load_views().keys()
    for alarm, _, answer in ROWS:
        named = re.findall(r"`([^`]+)`", answer)
        assert [name for name in named if name not in known] == [], alarm
        assert re.match(r"not judged: \w+", answer) or (named and named[0] in load_rules()), alarm

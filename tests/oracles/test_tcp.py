"""tcp_event against `perf script`, whose addresses libtraceevent prints: every received segment, both families.

perf prints the round-trip time in whole microseconds, as the event has it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same

LINE = re.compile(
    r"^\s*(?P<s>\d+)\.(?P<ns>\d{9}):\s+tcp:tcp_probe: family=AF_INET6? src=(?P<src>\S+) dest=(?P<dest>\S+) .*"
    r" snd_cwnd=(?P<cwnd>\d+) .* srtt=(?P<srtt>\d+) "
)


def end(text: str) -> tuple[str, int]:
    """`127.0.0.1:80` or `[::1]:80`."""
    address, _, port = text.rpartition(":")
    return address.strip("[]"), int(port)


def segments(text: str) -> list[tuple]:
    found = []
    for line in text.splitlines():
        match = LINE.match(line)
        assert match is not None, f"not a tcp_probe event: {line!r}"
        time_ns = int(match["s"]) * 1_000_000_000 + int(match["ns"])
        rtt_ns = int(match["srtt"]) * 1000
        found.append((time_ns, *end(match["src"]), *end(match["dest"]), rtt_ns, int(match["cwnd"])))
    assert found
    return found


RETRANSMITTED = re.compile(
    r"^\s*(?P<s>\d+)\.(?P<ns>\d{9}):\s+tcp:tcp_retransmit_skb: (?:.* )?family=AF_INET sport=(?P<sport>\d+) dport=(?P<dport>\d+)"
    r" saddr=(?P<saddr>\S+) daddr=(?P<daddr>\S+) "
)


@each_with("tcp-retransmit")
def test_every_retransmission(capture: Capture, case_of) -> None:
    """The connections lose every seventh segment; /proc/net/snmp had counted as many."""
    theirs = Counter()
    for line in capture.text("tcp-retransmit").splitlines():
        match = RETRANSMITTED.match(line)
        assert match is not None, line
        time_ns = int(match["s"]) * 1_000_000_000 + int(match["ns"])
        theirs[time_ns, match["saddr"], int(match["sport"]), match["daddr"], int(match["dport"])] += 1
    ours = case_of(capture).rows("""
        SELECT e.ts_ns + c.start_clock_ns, e.local_address, e.local_port, e.peer_address, e.peer_port
        FROM tcp_event AS e CROSS JOIN capture AS c WHERE e.event = 'retransmitted'
    """)
    assert sum(theirs.values()) == 18
    assert_same(Counter(ours), theirs, "retransmissions")


@each_with("tcp")
def test_every_segment(capture: Capture, case_of) -> None:
    ours = case_of(capture).rows("""
        SELECT e.ts_ns + c.start_clock_ns, e.local_address, e.local_port, e.peer_address, e.peer_port, e.rtt_ns,
            e.congestion_window_count
        FROM tcp_event AS e CROSS JOIN capture AS c
    """)
    theirs = segments(capture.text("tcp"))
    assert {len(row[1].split(":")) for row in theirs} >= {1, 3, 4}, "IPv4, ::1 and ::ffff:127.0.0.1"
    assert_same(Counter(ours), Counter(theirs), "segments")


@each_with("tcp")
def test_every_connection(capture: Capture, case_of) -> None:
    readings = defaultdict(list)
    for row in segments(capture.text("tcp")):
        readings[row[1:5]].append(row[5])
    theirs = {key: (len(rtts), max(rtts), sum(rtts)) for key, rtts in readings.items()}
    ours = case_of(capture).rows("""
        SELECT local_address, local_port, peer_address, peer_port, rtt_count, rtt_max_ns, round(rtt_avg_ns * rtt_count)::BIGINT
        FROM tcp_latency
    """)
    assert {row[:4]: row[4:] for row in ours} == theirs

"""net_utilization, tcp_activity and paging, and what sums them up, against sar itself, every column: both see the same files."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracles.fakehost import Host, Moment, table

STAT = "cpu  9 0 9 9 0 0 0 0 0 0\ncpu0 9 0 9 9 0 0 0 0 0 0\n"
HEAD = "Inter-|   Receive |  Transmit\n face |bytes packets|bytes packets\n"
# sar's column, ours, what turns ours into its unit.
DEV = [
    ("rxpck/s", "rx_packet_per_s", 1),
    ("txpck/s", "tx_packet_per_s", 1),
    ("rxkB/s", "rx_bytes_per_s", 1 / 1024),
    ("txkB/s", "tx_bytes_per_s", 1 / 1024),
    ("rxcmp/s", "rx_compressed_per_s", 1),
    ("txcmp/s", "tx_compressed_per_s", 1),
    ("rxmcst/s", "rx_multicast_per_s", 1),
    ("%ifutil", "util_ratio", 100),
]
EDEV = [
    ("rxerr/s", "rx_error_per_s", 1),
    ("txerr/s", "tx_error_per_s", 1),
    ("coll/s", "collision_per_s", 1),
    ("rxdrop/s", "rx_drop_per_s", 1),
    ("txdrop/s", "tx_drop_per_s", 1),
    ("txcarr/s", "tx_carrier_error_per_s", 1),
    ("rxfram/s", "rx_frame_error_per_s", 1),
    ("rxfifo/s", "rx_fifo_error_per_s", 1),
    ("txfifo/s", "tx_fifo_error_per_s", 1),
]
TCP = [
    ("active/s", "active_open_per_s", 1),
    ("passive/s", "passive_open_per_s", 1),
    ("iseg/s", "in_segment_per_s", 1),
    ("oseg/s", "out_segment_per_s", 1),
]
ETCP = [
    ("atmptf/s", "attempt_fail_per_s", 1),
    ("estres/s", "established_reset_per_s", 1),
    ("retrans/s", "retransmit_per_s", 1),
    ("isegerr/s", "in_error_per_s", 1),
    ("orsts/s", "out_reset_per_s", 1),
]
PAGING = [
    ("pgpgin/s", "page_in_bytes_per_s", 1 / 1024),
    ("pgpgout/s", "page_out_bytes_per_s", 1 / 1024),
    ("fault/s", "fault_per_s", 1),
    ("majflt/s", "major_fault_per_s", 1),
    ("pgfree/s", "free_pages_per_s", 1),
    ("pgscank/s", "scan_kswapd_pages_per_s", 1),
    ("pgscand/s", "scan_direct_pages_per_s", 1),
    ("pgsteal/s", "steal_pages_per_s", 1),
    ("%vmeff", "reclaim_ratio", 100),
]
SNMP = """
RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs
OutRsts InCsumErrors
"""
VMSTAT_NOW = """
pgpgin pgpgout pgfree pgfault pgmajfault pgsteal_kswapd pgsteal_direct pgscan_kswapd pgscan_direct pswpin pswpout
workingset_refault_file
"""
# Linux 4.7 and before counted by zone.
VMSTAT_OLD = """
pgpgin pgpgout pgfree pgfault pgmajfault pgsteal_kswapd_dma pgsteal_kswapd_normal pgsteal_direct_dma pgsteal_direct_normal
pgscan_kswapd_dma pgscan_kswapd_normal pgscan_direct_dma pgscan_direct_normal
"""


def grow(rng: random.Random, values: list[int]) -> list[int]:
    return [value + rng.choice([0, rng.randrange(5), rng.randrange(10**6)]) for value in values]


def figures(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(10 ** rng.randrange(1, 12)) for _ in range(count)]


def net_dev(interfaces: dict[str, list[int]]) -> str:
    return HEAD + "".join(f"{name:>6}: {' '.join(map(str, fields))}\n" for name, fields in interfaces.items())


def snmp(values: list[int]) -> str:
    return f"Tcp: {' '.join(SNMP.split())}\nTcp: {' '.join(map(str, [1, 200, 120000, -1, *values]))}\n"


def host(folder: Path, seed: int) -> Host:
    rng = random.Random(seed)
    before = {name: figures(rng, 16) for name in ("lo", "eth0", "eth1", "wlan0")}
    after = {name: grow(rng, fields) for name, fields in before.items()}
    # An interface that is removed, one that appears, one that was removed and came again, a counter of 32 bits that wraps.
    before["old0"] = figures(rng, 16)
    after["veth0"] = figures(rng, 16)
    before["tun0"], after["tun0"] = [10**9] * 16, grow(rng, [7] * 16)
    before["wrap0"] = figures(rng, 16)
    after["wrap0"] = grow(rng, before["wrap0"])
    links = {}
    for name, speed, duplex in (("eth0", 1000, "full"), ("eth1", 100, "half"), ("veth0", 10000, "full")):
        links[f"/sys/class/net/{name}/speed"] = f"{speed}\n"
        links[f"/sys/class/net/{name}/duplex"] = f"{duplex}\n"
    names = (VMSTAT_OLD if seed % 2 else VMSTAT_NOW).split()
    tcp, vm = figures(rng, 11), figures(rng, len(names))
    moments = []
    for interfaces, tcp_now, vm_now in ((before, tcp, vm), (after, grow(rng, tcp), grow(rng, vm))):
        files = {
            "/proc/stat": STAT,
            "/proc/net/dev": net_dev(interfaces),
            "/proc/net/snmp": snmp(tcp_now),
            "/proc/vmstat": "".join(f"{name} {value}\n" for name, value in zip(names, vm_now, strict=True)),
            **links,
        }
        moments.append(Moment(files))
    return Host(folder, *moments, rng.choice([1.0, 0.5, 60.0]))


def compare(ours: dict, theirs: dict, columns: list[tuple[str, str, float]], where: str) -> None:
    got = {name: (ours[column] or 0) * scale for name, column, scale in columns}
    wanted = {name: float(theirs[name]) for name, _, _ in columns}
    # sar prints two digits: half a digit of rounding.
    assert got == pytest.approx(wanted, abs=0.00501, rel=1e-12), where


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Host, str]]:
    root = tmp_path_factory.mktemp("sar")
    hosts = [host(root / str(seed), seed) for seed in range(6)]
    command = ("sar", "-n", "DEV,EDEV,TCP,ETCP", "-B", "1", "1")
    with ThreadPoolExecutor(3) as pool:
        texts = list(pool.map(lambda one: one.run(*command), hosts))
    return list(zip(hosts, texts, strict=True))


def rows_of(text: str, first: str) -> dict[str, dict[str, str]]:
    """The rows at the end of the first interval, by the name that follows the time."""
    without_time = "\n".join(line[8:] if line[2:3] == ":" else line for line in text.splitlines())
    return table(without_time, first, last=False)


def single(text: str, first: str) -> dict[str, str]:
    """The one row of a table that has no names in its rows."""
    lines = [line.split()[1:] for line in text.splitlines()]
    at = next(number for number, words in enumerate(lines) if first in words)
    return dict(zip(lines[at], lines[at + 1], strict=True))


def test_every_interface_is_sars(compared: list[tuple[Host, str]]) -> None:
    for one, text in compared:
        ours = {row["interface"]: row for row in one.rows("SELECT * FROM net_utilization")}
        for first, columns in (("rxpck/s", DEV), ("rxerr/s", EDEV)):
            theirs = rows_of(text, first)
            assert set(ours) == set(theirs)
            assert len(theirs) == 7
            for name, wanted in theirs.items():
                compare(ours[name], wanted, columns, f"{one.folder.name}: {name}")


def test_tcp_is_sars(compared: list[tuple[Host, str]]) -> None:
    for one, text in compared:
        (ours,) = one.rows("SELECT * FROM tcp_activity")
        compare(ours, single(text, "active/s"), TCP, one.folder.name)
        compare(ours, single(text, "atmptf/s"), ETCP, one.folder.name)


def test_paging_is_sars(compared: list[tuple[Host, str]]) -> None:
    for one, text in compared:
        (ours,) = one.rows("SELECT * FROM paging")
        compare(ours, single(text, "pgpgin/s"), PAGING, one.folder.name)


def test_reclaim_where_sar_adds_what_it_should_not(tmp_path: Path) -> None:
    # sysstat 12.6 adds all that begins with pgsteal_: since Linux 5.8 the same pages are counted by kind, too. And all that
    # begins with pgscan_direct: pgscan_direct_throttle counts threads that were held back, not pages.
    names = "pgfault pgsteal_kswapd pgsteal_direct pgsteal_anon pgsteal_file pgscan_kswapd pgscan_direct pgscan_direct_throttle"
    moments = []
    for values in ([0] * 8, [9, 70, 30, 40, 60, 150, 50, 7]):
        text = "".join(f"{name} {value}\n" for name, value in zip(names.split(), values, strict=True))
        moments.append(Moment({"/proc/stat": STAT, "/proc/vmstat": text}))
    one = Host(tmp_path / "x", *moments)
    theirs = single(one.run("sar", "-B", "1", "1"), "pgsteal/s")
    assert (theirs["pgsteal/s"], theirs["pgscand/s"], theirs["%vmeff"]) == ("200.00", "57.00", "96.62")
    (ours,) = one.rows("SELECT steal_pages_per_s, scan_direct_pages_per_s, reclaim_ratio FROM paging")
    assert ours == {"steal_pages_per_s": 100.0, "scan_direct_pages_per_s": 50.0, "reclaim_ratio": 0.5}


DEV_SUMMARY = [column for column in DEV if column[0] in ("rxpck/s", "txpck/s", "rxkB/s", "txkB/s", "%ifutil")]
TCP_SUMMARY = [*TCP, ("retrans/s", "retransmit_per_s", 1)]


def partly(before: list[int], after: list[int], part: float) -> list[int]:
    return [b + round((a - b) * part) for b, a in zip(before, after, strict=True)]


def test_a_capture_of_several_intervals_is_one_of_sars(tmp_path: Path) -> None:
    """The speed of a link is known all the time here, and all counters grow at one rate: sar takes the larger direction of the whole."""
    rng = random.Random(3)
    names = ("eth0", "eth1", "lo")
    before = {name: figures(rng, 16) for name in names}
    after = {name: [value + rng.randrange(10**6) for value in before[name]] for name in names}
    tcp = figures(rng, 11)
    tcp_after = [value + rng.randrange(10**5) for value in tcp]
    moments = [
        Moment(
            {
                "/proc/stat": STAT,
                "/proc/net/dev": net_dev({name: partly(before[name], after[name], part) for name in names}),
                "/proc/net/snmp": snmp(partly(tcp, tcp_after, part)),
                "/sys/class/net/eth0/speed": "1000\n",
                "/sys/class/net/eth0/duplex": "full\n",
            }
        )
        for part in (0, 0.5, 0.75, 1)
    ]
    one = Host(tmp_path / "x", moments[0], moments[-1], between=moments[1:-1])
    text = one.run("sar", "-n", "DEV,EDEV,TCP,ETCP", "1", "1")
    ours = {row["interface"]: row for row in one.rows("SELECT * FROM net_summary")}
    theirs, errors = rows_of(text, "rxpck/s"), rows_of(text, "rxerr/s")
    assert set(ours) == set(theirs) == set(names)
    for name in names:
        compare(ours[name], theirs[name], DEV_SUMMARY, name)
        both = [sum(float(errors[name][f"{way}{what}/s"]) for way in ("rx", "tx")) for what in ("err", "drop")]
        assert [ours[name]["error_count"], ours[name]["drop_count"]] == pytest.approx(both, abs=0.02), name
    (row,) = one.rows("SELECT * FROM tcp_summary")
    compare(row, {**single(text, "active/s"), **single(text, "atmptf/s")}, TCP_SUMMARY, "tcp_summary")

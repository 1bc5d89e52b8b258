"""The figures in the messages of findings, against the recordings' own text: the kernel's files as they were copied into the capture, and its
events as libtraceevent prints them, which is what trace-cmd report prints (test_trace_cmd)."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from perfcase.case import query
from perfcase.case.kept import have_findings
from tests.support.cli import perfcase
from tests.support.imports import imported
from tests.support.imports import unpacked as as_a_user_has_it
from tests.support.unpacked import unpacked

HERE = Path(__file__).parents[1] / "data" / "findings"
Snapshot = dict[str, str]
"""A round of snapshots: the text of each file by its path. ``at`` is its time in s."""


def capture(name: str) -> Path:
    return HERE / f"{name}.perfcase.xz"


def message(name: str, rule: str) -> str:
    """The message of the one finding of a rule."""
    with query.connect(imported(capture(name)).folder) as connection:
        have_findings(connection)
        rows = connection.execute("SELECT message FROM finding WHERE finding = $1", [rule]).fetchall()
    assert len(rows) == 1, rows
    return rows[0][0]


@cache
def snapshots(name: str, member: str = "proc") -> list[Snapshot]:
    """The rounds in the order of time. ``F TIME SIZE PATH`` comes before the text of a file, ``S TIME …`` before a round."""
    path = capture(name)
    found = dict(unpacked(name, path.read_bytes()))
    data = found[f"{name}!{member}/snapshots.zst"]
    rounds: list[Snapshot] = []
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        words = data[at:end].split(b" ", 3)
        at = end + 1
        if words[0] == b"S":
            rounds.append({"at": str(int(words[1]) / 1e9)})
        elif words[0] == b"F":
            size = int(words[2])
            rounds[-1][words[3].decode()] = data[at : at + size].decode(errors="replace")
            at += size + 1
    return rounds


def table(text: str) -> dict[str, int]:
    """Lines ``NAME VALUE``."""
    return {words[0]: int(words[1]) for line in text.splitlines() if len(words := line.split()) == 2}


def counters(text: str) -> dict[str, int]:
    """Pairs of lines of /proc/net/snmp: the names, then the values."""
    lines = [line.split() for line in text.splitlines()]
    return {
        f"{names[0]}{name}": int(value)
        for names, values in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names[1:], values[1:], strict=True)
    }


def ends(name: str, path: str, read: Callable[[str], dict[str, int]]) -> dict[str, int]:
    """How much each counter of a file, whose path this expression matches, grew from the first round that has it to the last."""
    texts = [text for each in snapshots(name) for at, text in each.items() if re.fullmatch(path, at)]
    first, last = read(texts[0]), read(texts[-1])
    return {key: last[key] - first[key] for key in last}


CALL = re.compile(r"-(\d+) +\[\d+\] +([\d.]+): sys_(enter|exit): +NR (\d+) (?:= (-?\d+)|\(([^)]*)\))")


def calls(name: str, number: int) -> Iterator[tuple[int, float, int]]:
    """Each call of this number: its thread, how long it took in s, and what it returned."""
    begun: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        done = perfcase("events", as_a_user_has_it(capture(name), Path(folder)))
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        if not (found := CALL.search(line)) or int(found[4]) != number:
            continue
        if found[3] == "enter":
            begun[found[1]] = float(found[2])
        elif found[1] in begun:
            yield int(found[1]), float(found[2]) - begun.pop(found[1]), int(found[5])


CONNECT, FDATASYNC = 42, 75  # x86_64
NETNS = r"/perfcase/netns/\d+/"
"""What the recorder read in the network namespace of a recorded process."""


@pytest.mark.parametrize(("name", "errno"), [("refused", 111), ("ports-many", 99)])
def test_calls_that_fail(name: str, errno: int) -> None:
    results = [result for *_, result in calls(name, CONNECT)]
    failed = results.count(-errno)
    share = f"{failed} of {len(results)} calls of connect failed ({100 * failed / len(results):.1f} %)"
    assert failed > 0
    assert share in message(name, "failing_calls")


def test_calls_that_wait_above_the_disk() -> None:
    took = [seconds for _, seconds, _ in calls("fsync-held", FDATASYNC) if seconds >= 0.001]
    text = f"{len(took)} calls of fdatasync on /mnt/volume/ledger took {sum(took):.2f} s, the longest {1000 * max(took):.1f} ms"
    assert text in message("fsync-held", "waits_above_disk")


def test_a_quota_is_used_up() -> None:
    grew = ends("quota", "/sys/fs/cgroup/shop/cpu.stat", table)
    said = message("quota", "cpu_quota")
    assert f"used up in {grew['nr_throttled']} of {grew['nr_periods']} periods" in said
    assert f"held back for {grew['throttled_usec'] / 1e6:.2f} s" in said
    assert f"ran {grew['usage_usec'] / 1e6:.2f} s" in said


def test_datagrams_that_no_queue_takes() -> None:
    grew = ends("shaped", NETNS + "snmp", counters)
    wanted = f"{grew['Udp:SndbufErrors']} datagrams found a queue on their way out full"
    assert wanted in message("shaped", "send_drops")
    assert f"{grew['Udp:OutDatagrams']} were sent" in message("shaped", "send_drops")


@pytest.mark.parametrize(("name", "folder"), [("drops", NETNS), ("softirq", "/proc/net/"), ("broadcast", "/proc/net/")])
def test_packets_that_an_interface_loses(name: str, folder: str) -> None:
    def read(text: str) -> dict[str, int]:
        rows = [line.replace(":", " ").split() for line in text.splitlines()[2:]]
        return {f"{row[0]} {column}": int(row[at]) for row in rows for at, column in ((2, "packets"), (4, "drop"))}

    grew = ends(name, folder + "dev", read)
    most = max((key for key in grew if key.endswith("drop")), key=lambda key: grew[key])
    lost, received = grew[most], grew[most.replace("drop", "packets")]
    assert f"{lost} packets received were lost, {100 * lost / (lost + received):.1f} % of all" in message(
        name, "interface_drops"
    )


def test_threads_that_are_not_ended() -> None:
    # The 20th field of /proc/PID/stat.
    rounds = [each for each in snapshots("thread-leak") if any(re.fullmatch(r"/proc/\d+/stat", path) for path in each)]
    seen = [
        (float(each["at"]), int(text.rpartition(")")[2].split()[17]))
        for each in rounds
        for path, text in each.items()
        if re.fullmatch(r"/proc/\d+/stat", path)
    ]
    (since, first), (until, last) = seen[0], seen[-1]
    text = f"{last} threads, {last - first} more than {until - since:.0f} s before"
    assert text in message("thread-leak", "thread_leak")


def test_descriptors_that_are_not_closed() -> None:
    path = next(path for path in snapshots("fd-leak", "process")[0] if path.endswith("/fd"))
    rounds = [each for each in snapshots("fd-leak", "process") if path in each]  # until the process ended
    first, last = (len(each[path].splitlines()) for each in (rounds[0], rounds[-1]))
    limit = re.search(r"Max open files +(\d+)", rounds[-1][path.replace("/fd", "/limits")])
    assert limit
    said = message("fd-leak", "fd_leak")
    assert said.startswith(f"{last} open descriptors, ")
    assert f"{100 * last / int(limit[1]):.1f} % of its limit of {limit[1]}; {last - first} more than" in said


def test_connections_that_no_queue_takes() -> None:
    extended = ends("listen", "/proc/net/netstat", counters)
    grew = ends("listen", "/proc/net/snmp", counters)
    assert f"{extended['TcpExt:ListenOverflows']} times a connection found" in message("listen", "listen_overflow")
    again, first = grew["Tcp:RetransSegs"], grew["Tcp:OutSegs"]
    said = message("listen", "tcp_retransmits")
    assert f"{again} segments were retransmitted, {first} for the first time" in said
    assert f"retransmission timers expired {extended['TcpExt:TCPTimeouts']} times" in said


def test_requests_that_wait_for_a_disk() -> None:
    def read(text: str) -> dict[str, int]:
        rows = [line.split() for line in text.splitlines()]
        # Reads, writes, flushes that ended, and the ms that they took together (Documentation/admin-guide/iostats.rst).
        return {
            f"{row[2]} {what}": sum(int(row[at]) for at in columns if at < len(row))
            for row in rows
            for what, columns in (("count", (3, 7, 18)), ("ms", (6, 10, 19)))
        }

    grew = ends("readers", "/proc/diskstats", read)
    most = max((key for key in grew if key.endswith("count")), key=lambda key: grew[key])
    count, ms = grew[most], grew[most.replace("count", "ms")]
    assert f"{count} requests took {ms / count:.1f} ms on average" in message("readers", "disk_queueing")

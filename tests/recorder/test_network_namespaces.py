"""Counters of the network namespaces that recorded processes are in: what a reader in each of them sees at the time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfcase.case import query, store
from perfcase.case.kept import have_findings
from tests.recorder.support import helper, parse_snapshots, run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

# It sends more datagrams than anybody reads, to a socket that is gone before a snapshot sees it, until its input ends.
LOSER = """
import select, socket, sys
while not select.select([sys.stdin], [], [], 0.02)[0]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        deaf.bind(("127.0.0.1", 0))
        for _ in range(20):
            sender.sendto(b"x" * 200, deaf.getsockname())
        if not globals().get("told"):
            told = print("dropping", flush=True) or True
"""
# Each datagram is read.
HEALTHY = LOSER.replace(
    'sender.sendto(b"x" * 200, deaf.getsockname())', 'deaf.recv(sender.sendto(b"x", deaf.getsockname()))'
)
FILES = ("snmp", "netstat", "sockstat")


def in_namespace(program: str) -> subprocess.Popen[str]:
    """A program in a network namespace of its own, once it sends."""
    script = 'ip link set lo up && exec "$0" -c "$1"'
    process = subprocess.Popen(
        ["unshare", "-n", "sh", "-c", script, sys.executable, program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if process.stdout.readline() != "dropping\n":
        process.kill()
        process.wait()
        pytest.skip("no network namespace can be made here")
    return process


def inode(pid: int) -> int:
    return Path(f"/proc/{pid}/ns/net").stat().st_ino


def counters(text: str) -> dict[str, int]:
    """Every counter of snmp or netstat, by the name that nstat gives it."""
    lines = [line.split() for line in text.splitlines()]
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return {
        f"{names[0]}{name}": int(value)
        for names, values in pairs
        for name, value in zip(names[1:], values[1:], strict=True)
    }


def seen_inside(pid: int) -> dict[str, int]:
    files = ["/proc/net/snmp", "/proc/net/netstat"]
    done = subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "cat", *files], capture_output=True, text=True, check=True, timeout=20
    )
    return counters(done.stdout)


@pytest.fixture
def pair() -> Iterator[tuple[subprocess.Popen[str], subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    try:
        for program in (LOSER, HEALTHY):
            processes.append(in_namespace(program))
        yield processes[0], processes[1]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_the_counters_of_each_namespace(
    pair: tuple[subprocess.Popen[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    before = [seen_inside(process.pid) for process in pair]
    pids = ",".join(str(process.pid) for process in pair)
    capture = tmp_path / "x.perfcase"
    done = run("dash", "-q", "-o", capture, "--pid", pids, "--duration", "3", "--interval", "0.5")
    assert done.returncode == 0, done.stderr
    after = [seen_inside(process.pid) for process in pair]
    with query.connect(store.open_case(capture, tmp_path / "x.case").folder) as connection:

        def rows(sql: str) -> list[tuple]:
            return connection.execute(sql).fetchall()

        for process, first, last in zip(pair, before, after, strict=True):
            recorded = rows(
                "SELECT protocol || ':' || name, min(value), max(value), count(*)"
                f" FROM proc_net_counter WHERE netns_inode = {inode(process.pid)} GROUP BY ALL"
            )
            assert {name for name, *_ in recorded} == set(first)
            assert min(n for *_, n in recorded) > 2
            # None of these goes backwards: what was recorded lies between what was seen before and after.
            assert not [
                (name, least, most)
                for name, least, most, _ in recorded
                if not first[name] <= least <= most <= last[name] and name != "Tcp:CurrEstab"
            ]
        assert after[0]["Udp:RcvbufErrors"] > before[0]["Udp:RcvbufErrors"]
        assert after[1]["Udp:RcvbufErrors"] == 0
        assert rows("SELECT count(*) > 0 FROM proc_sockstat WHERE netns_inode IS NOT NULL") == [(True,)]
        # Each namespace has a lo of its own.
        sent = "SELECT netns_inode, pid, sum(tx_packet_count) > 0 FROM net_utilization WHERE interface = 'lo' AND netns_inode IS NOT NULL"
        assert rows(f"{sent} GROUP BY ALL ORDER BY 1") == [
            (*pair, True) for pair in sorted((inode(p.pid), p.pid) for p in pair)
        ]
        named = sorted((inode(process.pid), process.pid) for process in pair)
        assert rows("SELECT netns_inode, pid FROM network_namespace ORDER BY 1") == named
        have_findings(connection)  # a rule at a time, as the commands do: all in one plan take much memory
        ((subject,),) = rows(
            "SELECT subject FROM finding WHERE finding = 'receive_drops' AND subject LIKE '%namespace%'"
        )
    assert re.fullmatch(rf"UDP in the network namespace of python[\d.]* \({pair[0].pid}\)", subject)


def test_a_process_that_moves_and_one_that_ends(tmp_path: Path) -> None:
    """The sampler alone, of all processes: what a namespace's last process leaves is not read as that of another."""
    mover = in_namespace(HEALTHY)
    listing, out = tmp_path / "proc.list", tmp_path / "out"
    listing.write_text("network snmp\n")
    own = Path("/proc/self/ns/net").stat().st_ino
    sampler = subprocess.Popen([helper(), "sample", listing, out, "20000000", "all"])
    try:
        there = inode(mover.pid)
        path = f"/perfcase/netns/{there}/snmp"
        while not out.is_file() or path.encode() not in out.read_bytes():
            assert sampler.poll() is None
        mover.kill()
        mover.wait()
        size = out.stat().st_size
        while out.stat().st_size < size + 2000 and out.read_bytes().count(b"\nS ") < 20:
            assert sampler.poll() is None
    finally:
        mover.kill()
        sampler.terminate()
        assert sampler.wait(20) == 0
    snapshots = parse_snapshots(out.read_bytes())
    assert path in snapshots[0].files
    assert path not in snapshots[-1].files
    assert not [name for one in snapshots for name in one.files if f"/{own}/" in name]


def test_too_many_namespaces(tmp_path: Path) -> None:
    """64 are read, the same ones in each snapshot, and the capture says how many were not."""
    script = "for i in $(seq 66); do unshare -n sleep 60 & done; echo made; wait"
    many = subprocess.Popen(["setsid", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    listing, out = tmp_path / "proc.list", tmp_path / "out"
    listing.write_text("network snmp\n")
    try:
        many.stdout.readline()
        pids = subprocess.run(["pgrep", "-P", str(many.pid)], capture_output=True, text=True, check=True).stdout.split()
        own = Path("/proc/self/ns/net").stat().st_ino
        while len({inode(int(pid)) for pid in pids} - {own}) < 66:
            assert many.poll() is None
        sampler = subprocess.Popen([helper(), "sample", listing, out, "20000000", str(many.pid)])
        while not out.is_file() or out.read_bytes().count(b"\nZ ") < 2:
            assert sampler.poll() is None
        sampler.terminate()
        assert sampler.wait(20) == 0
    finally:
        os.killpg(many.pid, 15)
        many.wait()
    first, last = (parse_snapshots(out.read_bytes())[place].files for place in (0, -1))
    names = [name for name in first if name.endswith("/snmp")]
    assert len(names) == 64
    assert names == [name for name in last if name.endswith("/snmp")]
    assert first["/perfcase/netns/left_out"] == b"namespace_count 2\nprocess_count 0\n"

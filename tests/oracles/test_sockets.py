"""file_descriptor against the links of /proc, socket against ss, in another network namespace too."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.recorder.support import helper

# Sockets of each kind, connected, listening and idle, some with data that wait; and files of each kind.
HOLDER = r"""
import os, select, socket, subprocess, sys, tempfile, time
if sys.argv[1] == "alone":
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
keep = []
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen(7)
    client = socket.create_connection(server.getsockname()[:2])
    accepted, _ = server.accept()
    client.sendall(b"x" * 3000)
    waiting = socket.create_connection(server.getsockname()[:2])
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    datagrams.bind((address, 0))
    keep += [server, client, accepted, waiting, datagrams]
named = socket.socket(socket.AF_UNIX)
named.bind(sys.argv[2] + "/with space")
named.listen(3)
abstract = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
abstract.bind("\0perfcase-test-%d" % os.getpid())
keep += [named, abstract, *socket.socketpair(), *socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
keep += [os.dup(server.fileno()), *os.pipe(), os.eventfd(1), os.memfd_create("m"), select.epoll()]
keep += [open(sys.argv[2] + "/back\\slash\nline", "w"), tempfile.TemporaryFile(dir=sys.argv[2]), open("/dev/zero")]
child = os.fork()
if child == 0:
    time.sleep(60)
print(os.getpid(), child, flush=True)
time.sleep(60)
"""
NUMBERS = {
    "rto": ("rto_ns", 1e6),
    "ato": ("ato_ns", 1e6),
    "mss": ("mss_bytes", 1),
    "cwnd": ("congestion_window_count", 1),
    "bytes_sent": ("sent_bytes", 1),
    "bytes_acked": ("acknowledged_bytes", 1),
    "bytes_received": ("received_bytes", 1),
    "segs_out": ("segment_sent_count", 1),
    "segs_in": ("segment_received_count", 1),
    "minrtt": ("rtt_min_ns", 1e6),
}


@contextmanager
def holder(folder: Path, *, alone: bool) -> Iterator[list[int]]:
    """The process ids of two processes with the same sockets, in a network namespace of their own."""
    wrap = ["unshare", "--net"] if alone else []
    command = [*wrap, sys.executable, "-c", HOLDER, "alone" if alone else "here", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    pids = [int(word) for word in line.split()]
    try:
        if not pids:
            pytest.skip(f"no network namespace here: {process.stderr.read().strip()[-200:]}")
        yield pids
    finally:
        for pid in [*pids, process.pid]:
            if process.poll() is None or pid != process.pid:
                os.kill(pid, 9)
        process.wait()


def snapshot(out: Path, pids: list[int]) -> None:
    sampler = subprocess.Popen([helper(), "details", out, "60000000000", ",".join(map(str, pids))])
    deadline = time.monotonic() + 20
    while not (out.exists() and b"\nZ " in out.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.02)
    sampler.terminate()
    assert sampler.wait() == 0


def ss(pid: int) -> dict[int, dict[str, str]]:
    """What ss says of each socket with an inode, in the network namespace of a process."""
    found = {}
    command = ["nsenter", "--target", str(pid), "--net", "ss", "-tuxanpeiOH"]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        kind, state, received, sent, rest = line.split(None, 4)
        is_unix = kind.startswith("u_")
        # ss prints the inode of a unix socket in place of its port, without a name as "* INODE".
        inode = (
            int(re.search(r" (\d+) +\S+ \d+ ", f"{rest} ")[1])
            if is_unix
            else int(re.search(r"\bino:(\d+)|$", rest)[1] or 0)
        )
        values = dict(re.findall(r"\b(\w+):(\S+)", rest))
        words = rest.split()
        found[inode] = {
            **values, "kind": kind, "state": state, "received": received, "sent": sent, "owners": rest,
            "local": rest[: rest.index(f" {inode} ")].strip() if is_unix else words[0], "peer": words[1],
        }  # fmt: skip
    return found


@pytest.mark.skipif(shutil.which("ss") is None, reason="iproute2 is not installed: there is no ss to compare with")
@pytest.mark.skipif(os.getuid() != 0, reason="another network namespace needs root")
@pytest.mark.parametrize("alone", [False, True], ids=["here", "other-namespace"])
def test_sockets_are_those_of_ss(tmp_path: Path, *, alone: bool) -> None:
    with holder(tmp_path, alone=alone) as pids:
        before = ss(pids[0])
        snapshot(tmp_path / "snapshots", pids)
        after = ss(pids[0])
        netns = Path(f"/proc/{pids[0]}/ns/net").stat().st_ino
        links = {
            (pid, int(link.name)): str(link.readlink()) for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir()
        }
    case = store.open_case(tmp_path / "snapshots")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        descriptors = connection.execute(
            "SELECT pid, fd, target, inode FROM file_descriptor WHERE snapshot = 0"
        ).fetchall()
        query = connection.execute("SELECT * FROM proc_socket WHERE snapshot = 0 ORDER BY inode, pid, fd")
        names = [column[0] for column in query.description]
        sockets = [dict(zip(names, row, strict=True)) for row in query.fetchall()]
        shown = dict(
            connection.execute("SELECT DISTINCT inode, [local, peer] FROM socket WHERE snapshot = 0").fetchall()
        )
    assert {(pid, fd): target for pid, fd, target, _ in descriptors} == links
    held = {(pid, fd): inode for pid, fd, target, inode in descriptors if target.startswith("socket:")}
    # Every socket that the two hold, each with its holders, and nobody else's.
    assert {(s["pid"], s["fd"]): s["inode"] for s in sockets} == held
    assert len(sockets) == len(held)
    assert {s["netns_inode"] for s in sockets} == {netns}
    for socket in sockets:
        theirs = after[socket["inode"]]
        kinds = {"tcp": "tcp", "udp": "udp", "stream": "u_str", "dgram": "u_dgr", "seqpacket": "u_seq"}
        assert theirs["kind"] == kinds[socket["protocol"]]
        assert theirs["state"] == socket["state"]
        assert (int(theirs["received"]), int(theirs["sent"])) == (
            socket["recv_queue_bytes"],
            socket["send_queue_bytes"],
        )
        assert f"pid={socket['pid']},fd={socket['fd']})" in theirs["owners"]
        local, peer = shown[socket["inode"]]
        if socket["family"] == "unix":
            assert (local or "*") == theirs["local"]
        else:
            assert (local, peer) == tuple(theirs[end].replace("0.0.0.0:*", "0.0.0.0:0").replace("[::]:*", "[::]:0") for end in ("local", "peer"))  # fmt: skip
        if socket["protocol"] != "tcp" or socket["state"] == "LISTEN":
            continue
        assert theirs.get("rtt") == f"{socket['rtt_ns'] / 1e6:g}/{socket['rttvar_ns'] / 1e6:g}"
        for name, (column, scale) in NUMBERS.items():
            # ss leaves out what is 0.
            assert float(theirs.get(name, 0)) * scale == pytest.approx(socket[column] or 0), name
        # Times that grow: between those of ss before and after, in its milliseconds.
        low, high = (int(at[socket["inode"]].get("lastsnd", 0)) for at in (before, after))
        assert low <= socket["since_send_ns"] / 1e6 <= high
    kinds = {(s["family"], s["protocol"], s["state"]) for s in sockets}
    assert {
        ("inet", "tcp", "ESTAB"),
        ("inet6", "tcp", "LISTEN"),
        ("inet6", "udp", "UNCONN"),
        ("unix", "seqpacket", "ESTAB"),
    } <= kinds

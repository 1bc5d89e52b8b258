"""file_descriptor and socket against lsof: every descriptor of two processes that the test starts, every field that both have."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.oracles.test_sockets import holder, snapshot

pytestmark = pytest.mark.skipif(shutil.which("lsof") is None, reason="lsof is not installed")

TCP_STATES = {"ESTABLISHED": "ESTAB"}
UNIX_STATES = {"CONNECTED": "ESTAB", "UNCONNECTED": "UNCONN"}


def lsof(pids: list[int]) -> dict[tuple[int, int], dict[str, str]]:
    """What lsof says of each descriptor: its fields by their letters, TCP's own by two (ST, QR, QS)."""
    command = ["lsof", "-nP", "-Tqs", "-F", "pftidPTn", "-a", "-d", "0-65535", "-p", ",".join(map(str, pids))]
    found: dict[tuple[int, int], dict[str, str]] = {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        key, value = line[0], line[1:]
        if key == "p":
            pid = int(value)
        elif key == "f":
            found[pid, int(value)] = {}
            fields = found[pid, int(value)]
        elif key == "T":
            name, _, value = value.partition("=")
            fields[name] = value
        else:
            fields[key] = value
    return found


def told_of(fields: dict[str, str]) -> tuple[object, ...]:
    """The same in our terms: kind, name, inode, protocol, state, local, peer, received, sent."""
    kind, name = fields["t"], fields["n"]
    if kind == "CHR":
        return ("device", name, *[None] * 7)
    if kind == "REG":
        return ("memfd" if name.startswith("/memfd:") else "file", name, *[None] * 7)
    if kind == "FIFO":
        return ("pipe", name, int(fields["i"]), *[None] * 6)
    if kind == "a_inode":
        return (re.match(r"\[(\w+)", name)[1], "anon_inode", *[None] * 7)
    if kind == "unix":
        name, _, protocol = name.rpartition("type=")
        state = UNIX_STATES.get(fields["ST"], fields["ST"])
        protocol = protocol.split()[0].lower()
        return ("socket", "socket", int(fields["i"]), protocol, state, name.strip() or None, None, None, None)
    assert kind in ("IPv4", "IPv6")
    local, _, peer = name.partition("->")
    none = "0.0.0.0:0" if kind == "IPv4" else "[::]:0"
    state = TCP_STATES.get(fields["ST"], fields["ST"]) if "ST" in fields else "UNCONN"
    queues = int(fields["QR"]), int(fields["QS"])
    return ("socket", "socket", int(fields["d"]), fields["P"].lower(), state, local, peer or none, *queues)


def ours(path: Path) -> dict[tuple[int, int], tuple[object, ...]]:
    with duckdb.connect(str(store.open_case(path).folder / "case.duckdb"), read_only=True) as case:
        rows = case.execute(
            "SELECT f.pid, f.fd, f.kind, f.target, f.inode, f.protocol, f.state, f.local, f.peer,"
            "  s.recv_queue_bytes, s.send_queue_bytes, s.family, s.state, s.local, s.peer"
            " FROM file_descriptor AS f LEFT JOIN socket AS s USING (snapshot, pid, fd) WHERE snapshot = 0"
        ).fetchall()
    found = {}
    for pid, fd, kind, target, inode, protocol, state, local, peer, received, sent, family, *of_socket in rows:
        assert kind != "socket" or of_socket == [state, local, peer]
        if family == "unix":
            received = sent = None
            # lsof's name of a unix socket ends at a space.
            local = local and local.split(" ")[0]
        elif state == "LISTEN":
            # How many may wait to be accepted: lsof does not say.
            sent = 0
        if kind == "pipe":
            name = "pipe"
        elif inode is None and target.startswith("anon_inode:"):
            name = "anon_inode"
        elif kind == "socket":
            name = "socket"
        else:
            # As lsof makes a name printable.
            name = target.replace("\\", "\\\\").replace("\n", "\\n")
        found[pid, fd] = (kind, name, inode, protocol, state, local, peer, received, sent)
    return found


def test_every_descriptor_is_lsofs(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    with holder(tmp_path / "files", alone=False) as pids:
        before = lsof(pids)
        snapshot(tmp_path / "snapshots", pids[:1])
        assert lsof(pids) == before
    theirs = {key: told_of(fields) for key, fields in before.items()}
    assert ours(tmp_path / "snapshots") == theirs
    kinds = Counter(row[0] for row in theirs.values())
    assert kinds["socket"] >= 30
    assert {"file", "device", "pipe", "memfd", "eventfd", "eventpoll", "socket"} == set(kinds)

"""Connections of a program that does not wait for connect: the capture has what the program itself knows of them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from perfcase.case import query, store
from tests.recorder.support import SHELLS, TRACEFS, run
from tests.support.descriptors import HELD, differences

pytestmark = pytest.mark.skipif(TRACEFS is None or os.geteuid() != 0, reason="tracefs is not here, or not ours to use")

# Each connection: its family, its own end and the other one, the error that SO_ERROR says at the end.
PROGRAM = """
import json, select, socket, sys, threading

FAMILIES = {"inet": (socket.AF_INET, "127.0.0.1"), "inet6": (socket.AF_INET6, "::1")}

def connect(family, port, waits):
    number, address = FAMILIES[family]
    with socket.socket(number) as client:
        client.bind((address, 0))
        local = client.getsockname()[1]
        client.setblocking(waits)
        error = client.connect_ex((address, port))
        if not waits:
            select.select([], [client], [], 10)
            error = client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not error:
            client.send(b"x")
            client.setblocking(True)
            client.recv(1)
        return family, local, port, waits, error

found = []
for family, (number, address) in FAMILIES.items():
    with socket.socket(number) as server, socket.socket(number) as closed:
        server.bind((address, 0))
        server.listen()
        closed.bind((address, 0))
        for waits in (False, True):
            found.append(connect(family, closed.getsockname()[1], waits))
        def serve():
            for _ in range(2):
                with server.accept()[0] as answer:
                    answer.send(answer.recv(1))
        thread = threading.Thread(target=serve)
        thread.start()
        for waits in (False, True):
            found.append(connect(family, server.getsockname()[1], waits))
        thread.join()
json.dump(found, open(sys.argv[1], "w"))
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_every_connection_is_what_the_program_knows_of_it(shell: str, tmp_path: Path) -> None:
    assert TRACEFS is not None
    if not (TRACEFS / "events/sock/inet_sock_set_state").exists():
        pytest.skip("the kernel does not tell the states of sockets (Linux 4.16)")
    told = tmp_path / "told.json"
    words = ["-q", "--stacks", "none", "-o", tmp_path / "x.perfcase", "--", sys.executable, "-c", PROGRAM, told]
    done = run(shell, *words)
    assert done.returncode == 0, done.stderr
    theirs = json.loads(told.read_text(encoding="utf-8"))
    assert [row[4] == 0 for row in theirs] == [False, False, True, True] * 2

    def named(family: str, port: int) -> str:
        return f"127.0.0.1:{port}" if family == "inet" else f"[::1]:{port}"

    ends = [(named(family, local), named(family, port)) for family, local, port, _, _ in theirs]
    with query.connect(store.open_case(tmp_path / "x.perfcase", tmp_path / "x.case").folder) as connection:
        rows = connection.execute(
            "SELECT local, peer, label FROM descriptor WHERE opened_by = 'socket' AND peer IS NOT NULL ORDER BY ts_ns"
        ).fetchall()
        labels = ["TCPv6" if family == "inet6" else "TCP" for family, *_ in theirs]
        assert rows == [(*both, f"{label}:[{both[0]}->{both[1]}]") for both, label in zip(ends, labels, strict=True)]
        rows = connection.execute(
            "SELECT format(CASE WHEN contains(peer_address, ':') THEN '[{}]:{}' ELSE '{}:{}' END, peer_address, peer_port),"
            " connection_count, connected_count, failed_count, given_up_count, handshake_avg_ns > 0, failed_avg_ns > 0"
            " FROM connection ORDER BY coalesce(first_failed_ts_ns, first_connected_ts_ns)"
        ).fetchall()
        assert rows == [
            (ends[at][1], 2, *((2, 0, 0, True, None) if theirs[at][4] == 0 else (0, 2, 0, None, True)))
            for at in (0, 2, 4, 6)
        ]
        turns = connection.execute("SELECT local, peer FROM socket_turn WHERE is_client ORDER BY ts_ns").fetchall()
        assert turns == [both for both, row in zip(ends, theirs, strict=True) if row[4] == 0]
        # No snapshot saw the accepted ones: their end tells both ends, the other way round.
        answered = [(peer, local) for (local, peer), row in zip(ends, theirs, strict=True) if row[4] == 0]
        rows = connection.execute(
            "SELECT local, peer FROM descriptor WHERE opened_by LIKE 'accept%' ORDER BY ts_ns"
        ).fetchall()
        assert rows == answered
        rows = connection.execute("SELECT local, peer FROM request ORDER BY ts_ns").fetchall()
        assert rows == answered
        assert {name: rows for name, (_, rows) in differences(connection).items()} == {name: [] for name in HELD}

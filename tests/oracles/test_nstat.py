"""proc_net_counter and tcp_activity against nstat: every counter, of two moments, and how much each grew.

nstat reads the files that its environment names: these are ours, which perfcase imports as well. Its history makes it print how
much each counter grew.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.oracles.fakehost import Host, Moment

pytestmark = pytest.mark.skipif(shutil.which("nstat") is None, reason="nstat (iproute2) is not installed")

# Names are those of this machine's kernel; figures are made up.
FILES = {"PROC_NET_SNMP": "/proc/net/snmp", "PROC_NET_NETSTAT": "/proc/net/netstat"}
# No counters: nstat does not print them.
SETTINGS = {"IpForwarding", "IpDefaultTTL", "TcpRtoAlgorithm", "TcpRtoMin", "TcpRtoMax", "TcpMaxConn", "TcpCurrEstab"}
# Our counts of an interval, by nstat's names.
COUNTS = {
    "TcpActiveOpens": "active_open_count",
    "TcpPassiveOpens": "passive_open_count",
    "TcpInSegs": "in_segment_count",
    "TcpOutSegs": "out_segment_count",
    "TcpRetransSegs": "retransmit_count",
    "TcpExtListenOverflows": "listen_overflow_count",
    "TcpExtListenDrops": "listen_drop_count",
}
RATES = {
    "TcpAttemptFails": "attempt_fail_per_s",
    "TcpEstabResets": "established_reset_per_s",
    "TcpInErrs": "in_error_per_s",
    "TcpOutRsts": "out_reset_per_s",
    "TcpExtTCPTimeouts": "timeout_per_s",
}
INTERVAL_S = 2.0


def lines(path: str) -> list[tuple[str, list[str]]]:
    """Each protocol of a file, and the names of its counters."""
    words = [line.split() for line in Path(path).read_text(encoding="ascii").splitlines()]
    return [(names[0], names[1:]) for names in words[::2]]


def moments(rng: random.Random) -> tuple[Moment, Moment]:
    before, after = {}, {}
    for path in FILES.values():
        texts = ["", ""]
        for protocol, names in lines(path):
            # nstat counts in 32 bits, whatever the kernel does.
            values = [rng.randrange(10 ** rng.randrange(1, 10)) for _ in names]
            grown = [value + rng.choice([0, rng.randrange(5), rng.randrange(10**9)]) for value in values]
            for number, figures in enumerate((values, grown)):
                texts[number] += f"{protocol} {' '.join(names)}\n{protocol} {' '.join(map(str, figures))}\n"
        before[path], after[path] = texts
    return Moment(before), Moment(after)


def nstat(folder: Path, moment: Moment, *options: str) -> dict[str, int]:
    names = {}
    for variable, path in FILES.items():
        file = folder / path.rpartition("/")[2]
        file.write_text(moment.files[path], encoding="ascii")
        names[variable] = str(file)
    others = {
        "PROC_NET_SNMP6": "/dev/null",
        "PROC_NET_SCTP_SNMP": "/dev/null",
        "NSTAT_HISTORY": str(folder / "history"),
    }
    done = subprocess.run(
        ["nstat", "--json", "--zeros", *options],
        env={**os.environ, **names, **others},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["kernel"]


@pytest.mark.parametrize("seed", range(4))
def test_every_counter_and_its_growth_is_nstats(seed: int, tmp_path: Path) -> None:
    before, after = moments(random.Random(seed))
    host = Host(tmp_path / "host", before, after, INTERVAL_S)
    query = "SELECT snapshot, protocol || name AS name, value FROM proc_net_counter"
    ours: dict[int, dict[str, int]] = {0: {}, 1: {}}
    for row in host.rows(query):
        ours[row["snapshot"]][row["name"]] = row["value"]
    (tmp_path / "nstat").mkdir()
    first = nstat(tmp_path / "nstat", before)
    grown = nstat(tmp_path / "nstat", after)
    for number, theirs in ((0, first), (1, nstat(tmp_path / "nstat", after, "--ignore"))):
        assert {name: value for name, value in ours[number].items() if name not in SETTINGS} == theirs
    assert len(grown) > 100
    assert {name: ours[1][name] - ours[0][name] for name in grown} == grown
    (activity,) = host.rows("SELECT * FROM tcp_activity")
    assert {name: activity[column] for name, column in COUNTS.items()} == {name: grown[name] for name in COUNTS}
    assert {name: activity[column] * INTERVAL_S for name, column in RATES.items()} == pytest.approx(
        {name: grown[name] for name in RATES}, rel=1e-12
    )
    # nstat takes it for a setting.
    assert activity["established_count"] == ours[1]["TcpCurrEstab"]

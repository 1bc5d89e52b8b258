"""migrations on a machine of two NUMA nodes, against the switches that perf prints and the nodes of its header."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise

from tests.oracles.captures import recorded_with

SWITCH = re.compile(r"\[(?P<cpu>\d+)\].* prev_pid=(?P<prev>\d+) .* next_pid=(?P<next>\d+) ")
NODE = re.compile(r"node(?P<node>\d+) cpu list : (?P<cpu>\d+)$")


def test_changes_of_node(case_of) -> None:
    (capture,) = recorded_with("numa")
    node = {int(m["cpu"]): int(m["node"]) for m in map(NODE.search, capture.text("numa").splitlines()) if m}
    assert node == {0: 0, 1: 1}
    runs: dict[int, list[int]] = defaultdict(list)
    last: dict[int, int] = {}
    for line in capture.text("switches").splitlines():
        match = SWITCH.search(line)
        assert match is not None, line
        cpu = int(match["cpu"])
        # Since when the first thread of each CPU ran is not known: that is no run.
        if cpu in last:
            runs[int(match["prev"])].append(cpu)
        last[cpu] = int(match["next"])
    for cpu, tid in last.items():
        runs[tid].append(cpu)
    theirs = Counter()
    for tid, cpus in runs.items():
        if tid != 0:
            theirs[
                tid,
                len(cpus),
                sum(a != b for a, b in pairwise(cpus)),
                sum(node[a] != node[b] for a, b in pairwise(cpus)),
            ] += 1
    ours = Counter(
        case_of(capture).rows(
            "SELECT tid, sum(run_count), sum(cpu_change_count), sum(cross_node_count) FROM migrations GROUP BY utid, tid"
        )
    )
    assert sum(row[3] for row in theirs) > 16, "the shell was sent over 16 times"
    assert ours == theirs

"""callers against `perf report --no-children -g callee`: every chain above every function, with its period.

perf prints the addresses of a chain as they were in memory, those of a program's code too, and not whose they are. So
the kernel's part of each chain is compared by its addresses, and of the program's part how many frames follow.
"""

from __future__ import annotations

import re
from collections import Counter

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.tools.perf_report import EVENT

CHAIN = re.compile(r"^(?P<period>\d+) (?P<chain>0x[0-9a-f|x]+)$")
USER = "user"
# The upper half of canonical addresses, on x86_64 and aarch64.
KERNEL_START = 0xFFFF << 48


def shape(chain: list[int]) -> tuple[int | str, ...]:
    """The kernel's addresses, then a word for each of the program's: beyond its first, which is that of the instruction
    pointer, they may be any number where the program has no frame pointers."""
    depth = next((depth for depth, address in enumerate(chain) if address < KERNEL_START), len(chain))
    return (*chain[:depth], *[USER] * (len(chain) - depth))


def perf_chains(text: str) -> Counter[tuple]:
    """Periods of (event, the function and all who called it)."""
    found: Counter[tuple] = Counter()
    event = None
    for line in text.splitlines():
        named = EVENT.match(line)
        event = named["name"] if named else event
        chain = CHAIN.match(line)
        if chain:
            addresses = [int(word, 16) for word in chain["chain"].split("|")]
            found[event, shape(addresses)] += int(chain["period"])
    return found


@each_with("report-callers")
def test_every_chain_of_callers(capture: Capture, case_of) -> None:
    """Each node of perf's tree, from the function upwards, has the period of all chains that go through it."""
    theirs: Counter[tuple] = Counter()
    for (event, chain), period in perf_chains(capture.text("report-callers")).items():
        for depth in range(len(chain)):
            theirs[event, chain[: depth + 1]] += period
    assert any(USER not in chain for _, chain in theirs)
    case = case_of(capture)
    places = {
        label: address if is_kernel else USER
        for label, address, is_kernel in case.rows("SELECT DISTINCT label, address, is_kernel FROM frame_label")
    }
    ours: Counter[tuple] = Counter()
    for event, path, weight in case.rows("SELECT event, path, self_weight FROM callers WHERE self_weight > 0"):
        ours[event, tuple(places[label] for label in path.split(";"))] += weight
    assert_same(ours, theirs)

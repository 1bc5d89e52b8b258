"""Each stack of `perf bench sched messaging` on aarch64, with copies of 4096 bytes of stack, against `perf script` on the
machine that recorded it. Every difference has a cause, and how many there are of each is exact: what is new fails.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import duckdb

from tests.oracles.symbols import Stored, import_case

CAPTURE = Stored("messaging-dwarf-aarch64")
# perf says "inlined" of functions of libc that have several names; they are frames like all others.
FRAME = re.compile(r"^\t\s*([0-9a-f]+) .* \((.*)\)$")
STACKS = """
SELECT coalesce(list({'address': f.address, 'dso': d.name} ORDER BY e.position) FILTER (f.frame_id IS NOT NULL), [])
FROM sample AS s
LEFT JOIN stack_entry AS e USING (stack_id)
LEFT JOIN frame AS f ON f.frame_id = e.frame_id
LEFT JOIN dso AS d USING (dso_id)
GROUP BY sample_id
ORDER BY sample_id
"""
# glibc's code that binds a function at its first call: its table takes its own stack pointer for the caller's, which is 16
# bytes above, as the PLT has pushed two registers. perf reads the caller's return address from 16 bytes too low: there is
# what the PLT pushed, which is the same address again, or a stack protector's word, whose lowest byte is 0 as in all such.
BINDING = 0x1081B
CANARY = 0xC647_6824_C6C8_1F00


def their_stacks() -> list[list[int]]:
    stacks: list[list[int]] = []
    for line in filter(None, CAPTURE.script().splitlines()):
        frame = FRAME.match(line)
        if frame is None:
            stacks.append([])
        else:
            stacks[-1].append(int(frame[1], 16))
    return stacks


def cause(ours: list[dict], theirs: list[int]) -> str:
    mine = [frame["address"] for frame in ours]
    if mine == theirs:
        return "same"
    behind = theirs.index(BINDING) + 2 if BINDING in theirs else len(theirs)
    if behind < len(theirs) and mine[:behind] == theirs[:behind] and len(mine) > behind:
        if theirs[behind] == theirs[behind - 1]:
            return "perf has the caller of code that binds twice"
        if theirs[behind] == CANARY - 1:
            return "perf takes a stack protector's word for a return address"
    return f"{ours} and {theirs}"


def test_every_stack(tmp_path: Path) -> None:
    case = import_case(CAPTURE.archive(), tmp_path / "case")
    with duckdb.connect(str(case / "case.duckdb"), read_only=True) as connection:
        ours = [stack for (stack,) in connection.execute(STACKS).fetchall()]
        reasons = connection.execute("SELECT end_reason FROM sample JOIN stack USING (stack_id)").fetchall()
    theirs = their_stacks()
    assert Counter(cause(*pair) for pair in zip(ours, theirs, strict=True)) == {
        "same": 163,
        "perf has the caller of code that binds twice": 17,
        "perf takes a stack protector's word for a return address": 7,
    }
    # Each of ours is whole but these, and none has a frame twice or an address that is none.
    assert Counter(reason for (reason,) in reasons) == {None: 185, "stack copy ended": 2}
    assert all(frame["dso"] is not None for stack in ours for frame in stack)
    assert not any(one == other for stack in ours for one, other in pairwise(stack))

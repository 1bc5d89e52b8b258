"""Stacks unwound from copies of stack memory against `perf script`, whose libunwind unwound them on the recording machine:
each frame, with its name. test_unwind_live.py compares the addresses of stacks that are recorded while it runs.

Where a stack differs, a rule says why; a difference that no rule covers fails the test. At least 99 in 100 stacks of
programs that were compiled, with unwind tables throughout, are the same.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.oracles.symbols import STORED_DWARF, Ours, Stored, Tables, import_case, our_stacks, their_stacks
from tests.oracles.test_symbols import cause
from tests.oracles.tools.named_script import Named

CAPTURES = pytest.mark.parametrize("capture", [pytest.param(each, id=each.id) for each in STORED_DWARF])
# CPython 3.12's trampolines have no unwind tables: perf ends there, or in an address that is none.
WITHOUT_TABLES = {"python"}


def same_place(ours: Ours, theirs: Named, position: int) -> bool:
    """perf prints the byte before a return address, which is in the call. It does so too where there is no call: before
    what a signal interrupted (aarch64), or before what the handler returns to (x86_64); ours is the place itself."""
    is_exact = position > 0 and not ours.is_kernel
    return ours.address in (theirs.address, theirs.address + is_exact)


def why_the_stacks_differ(ours: list[Ours], theirs: list[Named], same: int) -> str | None:
    """By the first frame that differs; None: there is no reason."""
    rest = theirs[same:]
    if len(rest) != 1:
        return None
    address = rest[0].address
    if address == 0xFFFF_FFFF_FFFF_FFFF:
        return "perf ends in an address that is none"
    # Pages are mapped whole: the last 12 bits of an address are those of its place in the file.
    if address >> 48 and same < len(ours) and (address - ours[same].address) % 4096 == 0:
        return "perf keeps the signature in the upper bits of a return address, and finds nothing there"
    return None


def compare(archive: bytes, ours: dict, theirs: dict) -> tuple[Counter[str], list[str]]:
    """Counts of stacks by cause, and what has none."""
    tables = Tables.of(archive)
    counts: Counter[str] = Counter()
    unexplained = []
    assert ours.keys() == theirs.keys()
    for key, samples in theirs.items():
        for their_stack, whole in zip(samples, ours[key], strict=True):
            mine = [frame for frame in whole if not frame.is_inlined]
            other = list(their_stack)
            pairs = list(zip(mine, other, strict=False))
            same = next((at for at, pair in enumerate(pairs) if not same_place(*pair, at)), len(pairs))
            if same == len(mine) == len(other):
                counts["same"] += 1
            elif (why := why_the_stacks_differ(mine, other, same)) is not None:
                counts[why] += 1
            else:
                unexplained.append(
                    f"after {same} frames: {mine[max(0, same - 1) : same + 2]} and {other[same : same + 2]}"
                )
            for position, (one, two) in enumerate(pairs[:same]):
                if two.name is not None and one.name != two.name and cause(one, two, position, tables) is None:
                    unexplained.append(f"{one} and {two}")
    return counts, unexplained


@CAPTURES
def test_every_stack(capture: Stored, tmp_path: Path) -> None:
    archive = capture.archive()
    counts, unexplained = compare(archive, our_stacks(import_case(archive, tmp_path / "case")), their_stacks(capture))
    distinct = Counter(unexplained)
    assert not unexplained, "\n".join(f"{count} x {line}" for line, count in distinct.most_common(20))
    if capture.id not in WITHOUT_TABLES:
        assert counts["same"] >= 0.99 * counts.total(), counts

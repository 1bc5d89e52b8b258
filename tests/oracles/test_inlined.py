"""Inlined functions against `perf script --inline`, which asks addr2line, on a program with debug information."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.oracles.symbols import STORED_INLINED, Ours, Stored, import_case, our_stacks, their_stacks
from tests.oracles.tools.named_script import Named

Names = tuple[str | None, ...]


def places(stack: tuple[Ours, ...] | tuple[Named, ...]) -> list[tuple[Ours | Named, Names]]:
    """For each call that there is: its frame, and the functions inlined into it, innermost first, before its own."""
    found: list[tuple[Ours | Named, Names]] = []
    names: Names = ()
    for frame, following in zip(stack, (*stack[1:], None), strict=True):
        names += (frame.name,)
        is_inlined = frame.is_inlined if isinstance(frame, Ours) else frame.inlined
        # perf calls a function inlined that addr2line names otherwise than the symbol table does: no frame follows it.
        if is_inlined and following is not None and following.address == frame.address:
            continue
        # addr2line has at times the symbol's name for the innermost of them: perf then takes it for the call's own frame.
        if found and len(found[-1][1]) == 1 and len(names) > 1 and found[-1][0].address == frame.address:
            names = found.pop()[1] + names
        found.append((frame, names))
        names = ()
    return found


def why(ours: Names, theirs: Names) -> str | None:
    """Why two lists of inlined functions differ; None: there is no reason."""
    symbol = ours[-1] or ""
    if len(ours) > 1 and theirs[:-1] == (symbol, *ours[1:-1]) and theirs[-1] in (symbol, symbol.rpartition("::")[2]):
        return "addr2line gives the innermost function the name of the symbol (llvm-symbolizer does not)"
    return None


@pytest.mark.parametrize("capture", [pytest.param(each, id=each.id) for each in STORED_INLINED])
def test_inlined_functions(capture: Stored, tmp_path: Path) -> None:
    ours, theirs = our_stacks(import_case(capture.archive(), tmp_path / "case")), their_stacks(capture)
    assert ours.keys() == theirs.keys()
    counts: Counter[str] = Counter()
    unexplained: Counter[str] = Counter()
    for key, samples in theirs.items():
        for their_stack, our_stack in zip(samples, ours[key], strict=True):
            for (frame, mine), (_, other) in zip(places(our_stack), places(their_stack), strict=True):
                # Libraries of the machine have their DWARF in files beside, which are not part of the capture.
                if not (frame.dso or "").endswith("/cxx-dwarf"):
                    continue
                if mine == other:
                    counts["same, with inlined functions" if len(mine) > 1 else "same"] += 1
                elif (reason := why(mine, other)) is not None:
                    counts[reason] += 1
                else:
                    unexplained[f"{mine} and {other}"] += 1
    assert not unexplained, "\n".join(f"{count} x {text}" for text, count in unexplained.most_common(20))
    same = sum(count for reason, count in counts.items() if reason.startswith("same"))
    assert counts["same, with inlined functions"] > 50
    assert same >= 0.95 * counts.total(), counts

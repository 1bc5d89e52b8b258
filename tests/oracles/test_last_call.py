"""A call that does not return may be the last instruction of its function: where it would return to is the next function,
or none. perf looks that address up for callchains of frame pointers; for stacks that it unwinds, the byte before. So what
perf says of the unwound stacks of a program is what the others of the same program must say too.
"""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from gzip import decompress
from pathlib import Path

from perfcase.case import store
from tests.oracles.symbols import Stored, import_case, our_stacks, their_stacks

CHAINS, UNWOUND = Stored("ends"), Stored("ends-dwarf")
# What a handler returns to was not called: perf looks for its call all the same, and finds nothing.
HANDLER = "__restore_rt"


def names(stacks: dict) -> Counter[tuple[str | None, ...]]:
    """How often each stack of functions of the program occurs, up to what calls main."""
    programs = [
        tuple(frame.name for frame in stack if not frame.dso.startswith("[kernel"))
        for each in stacks.values()
        for stack in each
    ]
    return Counter(stack[: stack.index("main") + 1] if "main" in stack else stack for stack in programs)


def test_a_caller_is_the_function_that_called(tmp_path: Path) -> None:
    ours = names(our_stacks(import_case(CHAINS.archive(), tmp_path / "case")))
    # spin and the handler keep no frame: their callers are not in the chain.
    assert ours == {("spin", "ends_in_call", "main"): 43, ("spin", HANDLER, "ends_in_call", "main"): 3}
    assert ("spin", "leave", "ends_in_call", "main") in names(their_stacks(UNWOUND))
    perfs = Counter(name for stack in names(their_stacks(CHAINS)) for name in stack)
    assert (perfs["follows"], perfs["ends_in_call"], perfs["main"]) == (2, 0, 0), "the captures show the difference"


def test_names_that_are_added_later_are_the_same(tmp_path: Path) -> None:
    """From the capture's own objects, in a copy of the recorded host's tree: perf.data has no build id of libc."""
    with tarfile.open(fileobj=io.BytesIO(CHAINS.archive())) as tar:
        members = {entry.name: decompress(tar.extractfile(entry).read()) for entry in tar if entry.name.endswith(".gz")}  # type: ignore[union-attr]
    for line in members["symbols/objects.tsv.gz"].decode().splitlines()[1:]:
        member, _, _, path, *_ = line.split("\t")
        file = tmp_path / "debug" / path.lstrip("/")
        file.parent.mkdir(parents=True)
        file.write_bytes(members[f"symbols/{member}.gz"])
    (tmp_path / "perf.data").write_bytes(members["perf/perf.data.gz"])
    case = store.open_case(tmp_path / "perf.data", tmp_path / "bare.case")
    assert not {"main", "spin"} & {name for stack in names(our_stacks(case.folder)) for name in stack}
    folder = store.symbolize(case, [tmp_path / "debug"])[0].folder
    whole = our_stacks(import_case(CHAINS.archive(), tmp_path / "whole"))
    later = our_stacks(folder)
    user = lambda stacks: [[f for f in stack if not f.is_kernel] for each in stacks.values() for stack in each]  # noqa: E731
    assert user(later) == user(whole)

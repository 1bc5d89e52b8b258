"""The name of every frame against `perf script` on the machine that recorded, where it had the binaries.

Every frame that perf names has a name, and the same one. Where the two differ, a rule says why; a difference that no
rule covers fails the test.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.oracles.cleanroot import import_in_clean_root
from tests.oracles.symbols import (
    LIVE,
    STORED,
    Capture,
    Ours,
    Recorded,
    Tables,
    import_case,
    may_record,
    our_stacks,
    programs,
    their_stacks,
)
from tests.oracles.tools import named_script
from tests.oracles.tools.named_script import Named
from tests.recorder.support import Capture as RecorderCapture
from tests.recorder.support import run
from tests.support.scale import scaled
from tests.support.symbols import record

CAPTURES = pytest.mark.parametrize("capture", [pytest.param(each, id=each.id) for each in (*STORED, *LIVE)])
# Recorded here, so that the binaries are on this machine under the paths in the capture.
CLEAN_ROOT = ("c", "jit", "cxx", "rust-v0")


def aliases(ours: Ours, theirs: Named, tables: Tables) -> bool:
    """Several symbols of the object start where this one does: perf and we choose by different rules."""
    place = tables.address(theirs.dso, theirs.address)
    if place is None or ours.offset is None or ours.offset != theirs.offset:
        return False
    return {ours.name, theirs.name.partition("@")[0]} <= tables.names(theirs.dso).get(place - ours.offset, set())


def behind_the_last_call(ours: Ours, theirs: Named, position: int) -> bool:
    """A call that does not return is the last instruction of its function: perf looks the return address up, which is
    in the next function; we look up the call."""
    return position > 0 and theirs.offset == 0 and ours.offset != 0


def without_link_register(ours: list[Ours], theirs: tuple[Named, ...]) -> tuple[Named, ...]:
    """perf on arm64 puts the caller of a leaf function, which kept no frame, after the first frame of user code: it has it
    from the link register, which the kernel's chain of frame pointers leaves out."""
    at = next((at for at, frame in enumerate(ours) if not frame.is_kernel), len(ours)) + 1
    shorter = (*theirs[:at], *theirs[at + 1 :])
    return shorter if [frame.address for frame in shorter] == [frame.address for frame in ours] else theirs


def cause(ours: Ours, theirs: Named, position: int, tables: Tables) -> str | None:
    """Why two names differ; None: there is no reason."""
    if theirs.name.partition("@@")[0] == ours.name and ours.offset == theirs.offset:
        return "perf keeps the version of a symbol of .symtab"
    if aliases(ours, theirs, tables):
        return "names of one address"
    if behind_the_last_call(ours, theirs, position):
        return "call that does not return"
    return None


def compare(tables: Tables, ours: dict, theirs: dict, *, is_arm64: bool = False) -> tuple[Counter[str], list[str]]:
    """Counts by cause, and what has none."""
    counts: Counter[str] = Counter()
    unexplained = []
    assert ours.keys() == theirs.keys()
    for key, samples in theirs.items():
        for their_stack, whole in zip(samples, ours[key], strict=True):
            our_stack = [frame for frame in whole if not frame.is_inlined]
            if len(our_stack) + 1 == len(their_stack) and is_arm64:
                their_stack = without_link_register(our_stack, their_stack)
                counts["a caller from the link register"] += 1
            if len(our_stack) != len(their_stack):
                unexplained.append(f"{key}: {len(our_stack)} frames, perf has {len(their_stack)}")
                continue
            for position, (mine, other) in enumerate(zip(our_stack, their_stack, strict=True)):
                # perf inject gives generated code addresses of its own.
                if "/jitted-" not in other.dso and mine.address != other.address:
                    unexplained.append(f"{key}: address {mine} and {other}")
                # An entry of .plt that calls what has no name (an IFUNC of libc itself) is a bare "@plt".
                elif other.name in (None, "@plt"):
                    counts["perf has no name" + ("" if mine.name is None else f", we have it from {mine.source}")] += 1
                elif (mine.name, mine.offset) == (other.name, other.offset):
                    counts["same"] += 1
                elif mine.name is not None and (why := cause(mine, other, position, tables)) is not None:
                    counts[why] += 1
                else:
                    unexplained.append(f"{mine} and {other}")
    return counts, unexplained


@CAPTURES
def test_every_name(capture: Capture, tmp_path: Path) -> None:
    archive = capture.archive()
    ours, theirs = our_stacks(import_case(archive, tmp_path / "case")), their_stacks(capture)
    counts, unexplained = compare(Tables.of(archive), ours, theirs, is_arm64="aarch64" in capture.id)
    distinct = Counter(unexplained)
    assert not unexplained, "\n".join(f"{count} x {line}" for line, count in distinct.most_common(20))
    assert counts["same"] > 0


@pytest.mark.parametrize(
    ("program", "language"), [("c", "c"), ("c-stripped", "c"), ("cxx", "cxx"), ("rust-v0", "rust")]
)
def test_every_name_of_the_recorders_own_capture(program: str, language: str, tmp_path: Path) -> None:
    """What perfcase-record takes along with --symbols table names all that perf names where it has everything."""
    if not may_record():
        pytest.skip("perf or a compiler is missing here: nothing to record (the stored captures are compared)")
    done = run(
        "dash", "-q", "--stacks", "all", "-o", tmp_path / "x.perfcase", "--", programs(language) / program, "300"
    )
    assert done.returncode == 0, done.stderr
    capture = RecorderCapture.read(tmp_path / "x.perfcase")
    (tmp_path / "perf.data").write_bytes(capture.content("perf/perf.data"))
    theirs = named_script.stacks(record.perf_script(tmp_path / "perf.data", "--no-inline"))
    ours = our_stacks(store.open_case(tmp_path / "x.perfcase", tmp_path / "x.case").folder)
    tables = Tables(capture.content("symbols/objects.tsv"), capture.content)
    counts, unexplained = compare(tables, ours, theirs)
    assert not unexplained, "\n".join(f"{count} x {line}" for line, count in Counter(unexplained).most_common(20))
    assert counts["same"] > 0


@pytest.mark.parametrize(
    "capture", [pytest.param(each, id=each.id) for each in LIVE if each.program in CLEAN_ROOT[: scaled(20)]]
)
def test_names_do_not_depend_on_the_machine(capture: Recorded, tmp_path: Path) -> None:
    """Imported where none of the binaries is, a capture that was recorded here gives the same table, row for row."""
    here = import_case(capture.archive(), tmp_path / "here")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.perfcase").write_bytes(capture.archive())
    import_in_clean_root(elsewhere / "x.perfcase", elsewhere / "x.case", tmp_path)
    for table in ("dso", "frame", "stack"):
        tables = [folder / "tables" / f"{table}.parquet" for folder in (here, elsewhere / "x.case")]
        with duckdb.connect() as connection:
            ours, theirs = (connection.from_parquet(str(path)).fetchall() for path in tables)
        assert ours == theirs != []

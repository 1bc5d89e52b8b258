"""perf script against the import on files that no perf wrote: where perf reads one, both have the same samples, names and callchains.

A difference is one of those below, each with its reason, or one that the import itself says, for as many samples as it says.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.oracles import differential, mutation
from tests.oracles.captures import RECORDED, Recorded
from tests.oracles.differential import Issue, PerfcaseError, Rows, Unread
from tests.oracles.tools import run
from tests.support.scale import SCALE, scaled

TRIES = scaled(100)
QUANTITY_MAX = 1 << 61
TIME_END = 1 << 61
KERNEL, KERNEL_HALF = "[kernel.kallsyms]", 1 << 63
SMALL = ("x86_64/hw-cycles", "x86_64/kwork", "x86_64/lock", "x86_64/page-faults", "aarch64/hw-group", "aarch64/hw-instructions",
         "aarch64/kwork")  # fmt: skip
LARGE = ("x86_64/sched", "x86_64/offcpu", "aarch64/hw-cycles")
# A perf that reads fewer of them than this compares nothing.
READ_LEAST = 0.4
# The import says so of each sample that it leaves out, or reads other than the file has it.
OF_SAMPLES = {"damaged_sample", "damaged_record", "damaged_callchain", "truncated_record", "unknown_event"}
captures = pytest.mark.parametrize(
    "capture",
    [
        pytest.param(capture, id=capture.id, marks=[pytest.mark.long] if capture.id in LARGE else [])
        for capture in RECORDED
        if capture.id in (*SMALL, *LARGE)
    ],
)
if not run.available("perf"):
    pytest.skip("perf is not installed", allow_module_level=True)


def without_impossible_times(rows: Counter, said: list[Issue]) -> Counter:
    """perf prints times of centuries, and sorts by them. Here they are times of damage: such a record is left out, and counted."""
    left = Counter({row: count for row, count in rows.items() if row[0] < TIME_END})
    out = rows.total() - left.total()
    if out > sum(issue.count for issue in said if issue.kind == "damaged_time"):
        return rows
    return left


def bounded(rows: Counter, said: list[Issue]) -> Counter:
    """Periods beyond 2^61 are shown as that, so that sums of them are numbers: the import says in how many rows."""
    bounded = Counter()
    beyond = 0
    for (*others, period), count in rows.items():
        beyond += count * (period > QUANTITY_MAX)
        bounded[*others, min(period, QUANTITY_MAX)] += count
    return bounded if beyond <= sum(issue.count for issue in said if issue.kind == "number_too_large") else rows


def of_unknown_threads(ours: Counter, theirs: Counter) -> tuple[Counter, Counter]:
    """Takes out samples whose thread or process perf calls by a number that is none, and we call unknown.

    - The kernel writes the id 0 of the idle task, and also of a thread that exits or is in another PID namespace. A tracepoint says
      which, and an idle task has no negative process.
    - A thread below 0 is none. A process below 0 is none, and we have the one that the thread is known by.
    """
    ours, theirs = ours.copy(), theirs.copy()
    for row in list(theirs - ours):
        time_ns, cpu, pid, tid, *others = row
        for other in list(ours - theirs):
            is_unknown = tid <= 0 and other == (time_ns, cpu, -1, -1, *others)
            is_known = pid < 0 < tid and (*other[:2], *other[3:]) == (time_ns, cpu, tid, *others)
            if (is_unknown or is_known) and theirs[row] and ours[other]:
                theirs[row] -= 1
                ours[other] -= 1
    return +ours, +theirs


def told(names: Counter) -> Counter:
    """Names that somebody gave: perf calls a thread without one by its number, and the threads above by the idle task's name."""
    found = Counter()
    for (time_ns, tid, comm), count in names.items():
        if tid > 0:
            found[time_ns, tid, None if comm == f":{tid}" else comm] += count
    return found


def same_frames(ours: Counter, theirs: Counter) -> tuple[Counter, Counter]:
    """Takes out chains that say the same in other words.

    - An address that the kernel had while it ran, of no object that perf knows, is [unknown] to perf. To us it is the kernel's.
    - An address of the kernel's half that user space had is the kernel's to perf: it may be its page of vsyscalls. To us it is unknown.
    - For a sample whose chain has no frame perf prints none. We keep the sampled instruction.
    """
    ours, theirs = ours.copy(), theirs.copy()
    lone = theirs - ours
    for row in list(ours - theirs):
        time_ns, event, frames = row
        for other in [other for other in lone if other[:2] == (time_ns, event)]:
            is_same = len(frames) == len(other[2]) and all(map(is_same_frame, frames, other[2]))
            if (is_same or (not other[2] and len(frames) == 1)) and lone[other] and ours[row]:
                ours[row] -= 1
                theirs[other] -= 1
                lone[other] -= 1
    return +ours, +theirs


def is_same_frame(ours: tuple[int, str], theirs: tuple[int, str]) -> bool:
    (address, dso), (address_of_theirs, dso_of_theirs) = ours, theirs
    if address != address_of_theirs:
        return False
    if address >= KERNEL_HALF and (dso, dso_of_theirs) == ("[unknown]", KERNEL):
        return True
    return dso == dso_of_theirs or (dso, dso_of_theirs) == (KERNEL, "[unknown]")


def of_known_modes(ours: Rows, theirs: Rows) -> tuple[Rows, Rows]:
    """Leaves out callchains of samples that do not say if the kernel or a program ran: to perf they are nowhere, to us in the program."""

    def left(rows: Rows) -> Rows:
        return replace(
            rows, chains=Counter({row: n for row, n in rows.chains.items() if row[0] not in ours.without_mode})
        )

    return left(ours), left(theirs)


def without_repetition(ours: Counter, theirs: Counter) -> Counter:
    """Takes out the second of two samples that are the same, with the values of a group of counters.

    perf leaves it out, as the values did not grow. We keep it, with the period that the sample itself has.
    """
    ours = ours.copy()
    once = {row[0] for row in theirs}
    for row in ours - theirs:
        while row[0] in once and ours[row] > theirs[row] and at(ours, row[0]) > at(theirs, row[0]):
            ours[row] -= 1
    return +ours


def at(rows: Counter, time_ns: int) -> int:
    return sum(count for row, count in rows.items() if row[0] == time_ns)


def of_one_process(ours: Rows, theirs: Rows) -> tuple[Rows, Rows]:
    """Leaves out names and callchains of threads with two processes.

    A thread's number is used again, by a thread of another process, which has another name and other mappings. To perf it is the same
    thread, which has the number of the process that each sample says.
    """
    processes: dict[int, set[int]] = {}
    for _, _, pid, tid, *_ in theirs.samples:
        processes.setdefault(tid, set()).add(pid)
    torn = {tid for tid, pids in processes.items() if len(pids) > 1}
    times = {row[0] for row in theirs.samples if row[3] in torn}

    def left(rows: Rows) -> Rows:
        names = Counter({row: count for row, count in rows.names.items() if row[1] not in torn})
        chains = Counter({row: n for row, n in rows.chains.items() if row[0] not in times})
        return replace(rows, names=names, chains=chains)

    return left(ours), left(theirs)


def differences(ours: Rows, theirs: Rows, said: list[Issue], *, has_names: bool, has_groups: bool = False) -> list[str]:
    """What differs, and has no reason."""
    ours, theirs = of_one_process(*of_known_modes(ours, theirs))
    if has_groups:
        ours = Rows(
            *map(
                without_repetition,
                (ours.samples, ours.names, ours.chains),
                (theirs.samples, theirs.names, theirs.chains),
            )
        )
    allowed = sum(issue.count for issue in said if issue.kind in OF_SAMPLES)
    unexplained = []
    pairs = {
        "samples": of_unknown_threads(ours.samples, bounded(without_impossible_times(theirs.samples, said), said)),
        "callchains": same_frames(ours.chains, without_impossible_times(theirs.chains, said)),
    }
    if has_names:
        pairs["names"] = told(ours.names), told(without_impossible_times(theirs.names, said))
    for what, (left, right) in pairs.items():
        only_ours, only_theirs = left - right, right - left
        if max(only_ours.total(), only_theirs.total()) > allowed:
            unexplained.append(f"{what}: ours {list(only_ours.items())[:3]}, perf's {list(only_theirs.items())[:3]}")
    return unexplained


@captures
def test_the_same_or_a_reason(capture: Recorded, tmp_path: Path) -> None:
    data = capture.bytes()
    tool = "script" if capture.has("script") else "script-no-cpu"
    tries = TRIES if capture.id in SMALL else scaled(30)
    # In a capture of switches their own fields name threads, too, and a changed name has two values.
    has_names = not capture.has("switches")
    wrong, read = [], 0
    for seed in range(tries):
        copy, what = mutation.mutated(data, seed)
        path = tmp_path / "x.data"
        path.write_bytes(copy)
        try:
            theirs = differential.theirs(tool, path, tmp_path)
        except Unread:
            continue
        read += 1
        out = tmp_path / "case"
        try:
            ours, said = differential.ours(path, out)
        except PerfcaseError as error:
            wrong.append(f"seed {seed}: we refuse what perf reads: {error} ({what})")
            continue
        finally:
            shutil.rmtree(out, ignore_errors=True)
        found = differences(ours, theirs, said, has_names=has_names, has_groups=capture.name == "hw-group")
        wrong += [f"seed {seed}: {each} ({what}) {said}" for each in found]
    assert not wrong, "\n".join(wrong)
    assert read >= READ_LEAST * tries if SCALE >= 1 else read


def test_a_wrong_row_is_seen() -> None:
    """What the rules let pass is no more than they say."""
    sample = (1_000, 0, 7, 7, "cycles", 10)
    chain = (1_000, "cycles", ((4096, "app"), (8192, "app")))
    rows = Rows(Counter([sample]), Counter([(1_000, 7, "app")]), Counter([chain]))
    assert differences(rows, rows, [], has_names=True) == []
    for other in (
        Rows(Counter([(1_001, *sample[1:])]), rows.names, rows.chains),
        Rows(Counter([(1_000, 0, 7, 7, "cycles", 11)]), rows.names, rows.chains),
        Rows(Counter([(1_000, 0, 0, 0, "cycles", 10)]), rows.names, rows.chains),
        Rows(Counter([(1_000, 0, 8, 7, "cycles", 10)]), rows.names, rows.chains),
        Rows(Counter(), rows.names, rows.chains),
        Rows(rows.samples, Counter([(1_000, 7, "other")]), rows.chains),
        Rows(rows.samples, rows.names, Counter([(1_000, "cycles", ((4096, "[unknown]"), (8192, "app")))])),
        Rows(rows.samples, rows.names, Counter([(1_000, "cycles", ((4096, "app"),))])),
        Rows(rows.samples, rows.names, Counter([(1_000, "cycles", ())])),
    ):
        assert len(differences(rows, other, [], has_names=True)) == 1, other
        assert len(differences(other, rows, [], has_names=True)) == 1, other
    late = Rows(rows.samples + Counter([(TIME_END, *sample[1:])]), rows.names, rows.chains)
    assert len(differences(rows, late, [], has_names=True)) == 1
    said = [Issue("error", "damaged_time", 1, "")]
    assert differences(rows, late, said, has_names=True) == []

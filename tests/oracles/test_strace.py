"""syscall_log against strace itself, which ran while perf recorded the same program's calls: `calls.c` in tests/data/captures.

Every line of strace is compared, in order, thread by thread: the call, its flags by name, numbers, descriptors with what
they are, the result. Three things cannot be the same and are made so: what strace reads from the program's memory
(texts, structures, lists) is a pointer in the trace; what it reads from /proc about a descriptor (a path, a socket's
ports) is not known without snapshots; and a call that another thread interrupts stands on two lines of strace.
"""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.oracles.captures import Recorded

CAPTURES = [Recorded("x86_64", "calls", ()), Recorded("aarch64", "calls", ())]
POINTER = "&"
# What strace tells of these from memory, or in words of its own.
SPECIAL = {
    # It names the arguments of clone, in an order of its own.
    "clone": lambda text: re.sub(r"child_stack=(\w+), flags=([\w|]+)", r"\2, \1", text).replace("child_tidptr=", ""),
    # val3 of FUTEX_WAKE_OP is an operation, spelled out.
    "futex": lambda text: re.sub(r"FUTEX_OP_SET<<28\S+\)", "0)", text),
}


def split(arguments: str) -> list[str]:
    """At the commas that are in no bracket and no quotation."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(arguments):
        if char == '"' and arguments[at - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (char in "[{(<") - (char in "]})" or (char == ">" and arguments[at - 1] != "-"))
            if char == "," and depth == 0:
                parts.append(arguments[start:at].strip())
                start = at + 1
    return [*parts, arguments[start:].strip()] if arguments.strip() else []


def plain(argument: str) -> str:
    """Without what is read from memory, and without what stands behind a descriptor."""
    argument = re.sub(r"/\*.*?\*/", "", argument).strip()
    if argument.startswith(('"', "[", "{")) or re.fullmatch(r"0x[0-9a-f]{5,}", argument):
        return POINTER
    return re.sub(r"^(-?\d+|AT_FDCWD)<.*", r"\1", argument)


def comparable(text: str, result: str) -> tuple[str, list[str], str]:
    name, _, arguments = text.partition("(")
    result = re.sub(r" \((?!flags).*| *\(flags.*", lambda m: m[0].strip() if "flags" in m[0] else "", result.strip())
    number = re.sub(r"^(\d+)<.*", r"\1", result)
    return name, [plain(argument) for argument in split(arguments.rstrip()[:-1])], number


def strace_lines(text: str) -> dict[int, list[tuple]]:
    found: dict[int, list[tuple]] = defaultdict(list)
    begun: dict[int, str] = {}
    for line in text.splitlines():
        tid, rest = re.match(r"(\d+) +(.*)", line).groups()
        if rest.startswith(("+++", "---")):
            continue
        if rest.endswith("<unfinished ...>"):
            begun[int(tid)] = rest.removesuffix("<unfinished ...>").rstrip()
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", rest)
        if resumed:
            rest = begun.pop(int(tid)) + " " + resumed[1].strip()
        call, _, result = rest.rpartition(" = ")
        name = call.partition("(")[0]
        call = SPECIAL.get(name, str)(call.rstrip())
        found[int(tid)].append(comparable(call, result))
    return found


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.id)
def test_every_line_of_strace(capture: Recorded, case_of) -> None:
    theirs = strace_lines(capture.text("strace"))
    case = case_of(capture)
    ours: dict[int, list[tuple]] = defaultdict(list)
    for tid, text in case.rows(
        "SELECT tid, text FROM syscall_log WHERE cut_at IS DISTINCT FROM 'start' ORDER BY ts_ns, utid"
    ):
        if tid in theirs:
            call, _, result = text.rpartition(" = ")
            ours[tid].append(comparable(call, result))
    assert len(theirs) == 2
    assert sum(map(len, theirs.values())) > 130
    for tid, lines in theirs.items():
        # Before it becomes the program the thread is strace's; its first call there is the execve of the program.
        mine = ours[tid]
        begin = next((i for i, line in enumerate(mine) if line[0] == "execve" and line[2] == "0"), 0)
        mine = mine[begin:]
        assert [pair for pair in zip(lines, mine, strict=True) if pair[0] != pair[1]] == []

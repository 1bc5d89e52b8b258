"""lock_wait_event against `perf trace -i`: every futex call that waits, its thread, address, operation, result and times;
and its holders against a program of which it is known who holds what (tests/data/captures/futex.c).

perf prints times in milliseconds with three decimals, so ours may differ by half a unit of the last place.
"""

from __future__ import annotations

import re

from tests.oracles.captures import RECORDED, Capture, each_with

CALL = re.compile(
    r"^ *(?P<start>[\d.]+) \( *(?P<duration>[\d.]+ ms)?\s*\): (?P<comm>.{0,16})/(?P<tid>\d+) +"
    r"(?:futex\(uaddr: (?P<address>0x[0-9a-f]+)(?:, op: (?P<op>[A-Z_|]+))?[^)]*\)?|\.\.\. \[continued\]: futex\(\)\)) *"
    r"(?:= (?P<ret>-?\d+)(?: (?P<errno>[A-Z]+))?.*|(?P<open>\.\.\.))$"
)
WAITS = {"WAIT": "wait", "WAIT_BITSET": "wait_bitset", "LOCK_PI": "lock_pi", "WAIT_REQUEUE_PI": "wait_requeue_pi"}
RESULTS = {None: "woken", "ETIMEDOUT": "timeout", "EAGAIN": "changed", "EINTR": "interrupted"}
OURS = """
SELECT t.tid, w.lock_address, w.lock_type, w.result, w.ts_ns / 1e6, w.duration_ns / 1e6
FROM lock_wait_event AS w JOIN thread AS t USING (utid)
WHERE w.kind = 'futex' AND w.result <> 'open'
ORDER BY w.ts_ns, t.tid
"""


def perf_waits(text: str) -> list[tuple[int, int, str, str, float, float]]:
    """A call that others interrupt is printed twice: when it begins, and with its result."""
    begun: dict[int, tuple[int, str]] = {}
    found = []
    for line in text.splitlines():
        if "futex(" not in line:
            continue
        call = CALL.match(line)
        assert call is not None, f"not a futex call: {line!r}"
        tid = int(call["tid"])
        if call["address"]:
            # perf leaves out arguments that are 0: FUTEX_WAIT without flags.
            begun[tid] = (int(call["address"], 16), (call["op"] or "WAIT").partition("|")[0])
        if call["open"] or tid not in begun:
            continue
        address, operation = begun.pop(tid)
        if operation in WAITS:
            duration = float(call["duration"].split()[0])
            found.append((tid, address, WAITS[operation], RESULTS[call["errno"]], float(call["start"]), duration))
    return sorted(found, key=lambda row: (row[4], row[0]))


@each_with("trace-futex")
def test_every_wait(capture: Capture, case_of) -> None:
    theirs = perf_waits(capture.text("trace-futex"))
    ours = case_of(capture).rows(OURS)
    assert [row[:4] for row in ours] == [row[:4] for row in theirs]
    assert theirs
    # perf counts from the first event of the file.
    offset = ours[0][4] - theirs[0][4]
    for mine, perfs in zip(ours, theirs, strict=True):
        assert abs(mine[4] - offset - perfs[4]) <= 0.001 + 1e-6, (mine, perfs)
        assert abs(mine[5] - perfs[5]) <= 0.0005 + 1e-6, (mine, perfs)


def test_holders_of_a_program_that_is_known(case_of) -> None:
    """The thread `holder` holds each mutex for 40 ms and then signals a condition, which nobody holds; main joins it."""
    (capture,) = [capture for capture in RECORDED if capture.id == "x86_64/futex"]
    rows = case_of(capture).rows("""
        SELECT t.comm, w.lock_type, k.comm, h.comm, w.holder_how
        FROM lock_wait_event AS w
        JOIN thread AS t USING (utid)
        LEFT JOIN thread AS k ON k.utid = w.waker_utid
        LEFT JOIN thread AS h ON h.utid = w.holder_utid
        ORDER BY w.ts_ns
    """)
    assert [(comm, kind, holder, how) for comm, kind, _, holder, how in rows] == [
        ("locks", "wait_bitset", "holder", "exit"),
        ("waiter", "wait", "holder", "mutex"),
        ("waiter", "wait", "holder", "word"),
        ("waiter", "lock_pi", "holder", "unlock"),
        ("waiter", "wait_bitset", None, None),
    ]
    assert [waker for comm, _, waker, _, _ in rows if comm == "waiter"] == ["holder"] * 4

"""Writes a perf.data with branch stacks by hand: no machine with LBR was at hand.

python build_branches.py FILE: 60 samples of `cycles` of one process that runs /bin/app, each with 4 branches out of a
loop, a call, a return and a system call, with the flag words of struct perf_branch_entry.
"""

import struct
import sys
from pathlib import Path

IP, TID, TIME, PERIOD, BRANCH_STACK = 1, 2, 4, 0x100, 0x800
BASE, KERNEL = 0x555500000000, 0xFFFFFFFF81000000
MISPREDICTED, PREDICTED, IN_TRANSACTION, ABORT = 1, 2, 4, 8
CONDITIONAL, CALL, RETURN, SYSTEM_CALL = 1 << 20, 4 << 20, 6 << 20, 7 << 20

# (from, to, flags without cycles)
LOOP = (BASE + 0x40, BASE + 0x10, CONDITIONAL)
BRANCHES = [
    (BASE + 0x60, BASE + 0x100, PREDICTED | CALL), (BASE + 0x120, BASE + 0x64, PREDICTED | RETURN),
    (BASE + 0x130, KERNEL + 0x80, PREDICTED | SYSTEM_CALL), (BASE + 0x48, BASE + 0x70, ABORT | IN_TRANSACTION | CONDITIONAL),
]  # fmt: skip


def record(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, misc, len(body) + 8) + body


def sample(number: int) -> bytes:
    predicted = MISPREDICTED if number % 5 == 0 else PREDICTED
    loop = (*LOOP[:2], LOOP[2] | predicted | (3 + number % 7) << 4)
    other = BRANCHES[number % len(BRANCHES)]
    stack = [loop, other, loop, loop]
    body = struct.pack("<QiiQQ", BASE + 0x10, 7, 7, 1_000_000_000 + number * 1000, 1000)
    body += struct.pack("<Q", len(stack)) + b"".join(struct.pack("<QQQ", *branch) for branch in stack)
    return record(9, 2, body)


def main(path: Path) -> None:
    name = b"app\0\0\0\0\0"
    file = b"/bin/app" + bytes(8)
    data = record(3, 0, struct.pack("<ii", 7, 7) + name)
    data += record(1, 2, struct.pack("<iiQQQ", 7, 7, BASE, 0x1000, 0x2000) + file)
    data += b"".join(map(sample, range(60)))
    attr = struct.pack("<IIQQQQQ", 0, 128, 0, 1000, IP | TID | TIME | PERIOD | BRANCH_STACK, 0, 0)
    attr += struct.pack("<QQQ", 0, 0, 0) + struct.pack("<Q", 1 << 3 | 1 << 0 | 1 << 1) + bytes(128 - 48 - 32)
    attr += struct.pack("<QQ", 0, 0)
    data_at = 104 + len(attr)
    head = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, len(attr), 104, len(attr), data_at, len(data), 0, 0) + bytes(32)
    path.write_bytes(head + attr + data)


main(Path(sys.argv[1]))

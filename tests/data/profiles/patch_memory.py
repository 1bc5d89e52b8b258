"""Turns a recording of page faults with data_src into one of memory samples: no machine with such a PMU was at hand.

python patch.py RECORDED PATCHED: the samples that lie in the 24 pages of the workload get data addresses in three cache
lines and the data_src words below; all else (threads, times, instructions, mappings) stays as perf recorded it.
"""

import struct
import sys
from pathlib import Path

# Shifts of union perf_mem_data_src (include/uapi/linux/perf_event.h).
OP, LVL, SNOOP, LOCK, TLB = 0, 5, 19, 24, 26
LOAD, STORE = 2 << OP, 4 << OP
HIT, MISS, L1, LFB, L2, L3, RAM, REMOTE_CACHE = (bits << LVL for bits in (2, 4, 8, 16, 32, 64, 128, 1024))
SNOOP_HIT, HITM = 4 << SNOOP, 16 << SNOOP
LOCKED = 2 << LOCK
L1_TLB_HIT = (2 + 8) << TLB

# Samples of the reader: (line, offset, data_src, weight); those of the writer have the same.
READS = [
    (0, 8, LOAD | HIT | L3 | HITM | L1_TLB_HIT, 120), (0, 8, LOAD | HIT | L3 | HITM | L1_TLB_HIT, 90),
    (0, 8, LOAD | HIT | REMOTE_CACHE | HITM, 300), (0, 8, LOAD | HIT | L1, 4), (0, 8, LOAD | HIT | LFB, 20),
    (0, 8, LOAD | HIT | L2, 14), (1, 0, LOAD | HIT | L3 | HITM, 100), (1, 0, LOAD | HIT | L3 | SNOOP_HIT, 60),
    (1, 0, LOAD | HIT | RAM, 250), (2, 32, LOAD | HIT | L1, 4), (2, 40, LOAD | MISS | L3, 200),
    (0, 8, LOAD | HIT | REMOTE_CACHE | SNOOP_HIT, 180),
]  # fmt: skip
WRITES = [
    (0, 16, STORE | HIT | L1, 0), (0, 16, STORE | MISS | L1, 0), (0, 16, STORE | HIT | L1 | LOCKED, 0),
    (0, 24, STORE | HIT | L1, 0), (0, 16, STORE | MISS | L1, 0), (1, 0, STORE | HIT | L1, 0),
    (1, 0, STORE | MISS | L1, 0), (1, 0, STORE | HIT | L1, 0), (0, 16, LOAD | HIT | L3 | HITM, 70),
    (0, 16, STORE | 1 << LVL, 0), (1, 0, STORE | HIT | L1 | LOCKED, 0), (0, 16, STORE | HIT | L1, 0),
]  # fmt: skip


def main(recorded: Path, patched: Path) -> None:
    data = bytearray(recorded.read_bytes())
    start, size = struct.unpack_from("<QQ", data, 40)
    at, samples = start, []
    while at < start + size:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        # IP, TID, TIME, ADDR, CPU, WEIGHT_STRUCT, DATA_SRC
        if kind == 9 and length == 64:
            samples.append(at + 8)
        at += length
    addresses = [struct.unpack_from("<Q", data, at + 24)[0] for at in samples]
    pages = sorted(address for address in addresses if address & 0xFFF in (8, 16))
    base = next(a - 8 for a in pages if a & 0xFFF == 8 and sum(1 for b in pages if 0 <= b - a < 24 << 12) == 24)
    reads, writes = iter(READS), iter(WRITES)
    for at, address in zip(samples, addresses, strict=True):
        if not base <= address < base + (24 << 12):
            continue
        line, offset, source, weight = next(reads if address & 0xFFF == 8 else writes)
        struct.pack_into("<Q", data, at + 24, base + line * 64 + offset)
        struct.pack_into("<QQ", data, at + 40, weight, source)
    assert next(reads, None) is None
    assert next(writes, None) is None
    patched.write_bytes(data)


main(*map(Path, sys.argv[1:]))

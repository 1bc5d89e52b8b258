"""Callchains with branch records of calls (`--call-graph lbr`), and chains as long as the kernel's limit, against perf.

No machine with LBR was at hand: the recording is written here by hand, and perf script reads the same file.
"""

import struct
import subprocess
from pathlib import Path

import duckdb
import pytest

from perfcase.case.store import import_core

IP, TID, TIME, CALLCHAIN, PERIOD, BRANCH_STACK = 1, 2, 4, 0x20, 0x100, 0x800
IN_KERNEL, IN_USER = -128 % 2**64, -512 % 2**64
# PERF_SAMPLE_BRANCH_USER | _CALL_STACK | _NO_FLAGS | _NO_CYCLES
CALL_STACK = 1 << 0 | 1 << 11 | 1 << 14 | 1 << 15
APP, KERNEL = 0x555500000000, 0xFFFFFFFF81000000

Sample = tuple[int, int, list[int], list[tuple[int, int]]]


def record(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, misc, len(body) + 8) + body


def perf_data(path: Path, samples: list[Sample], branch_sample_type: int, max_stack: int = 0) -> Path:
    """A perf.data with one event of a process that runs /bin/app."""
    data = record(3, 0, struct.pack("<ii", 7, 7) + b"app\0\0\0\0\0")
    data += record(1, 2, struct.pack("<iiQQQ", 7, 7, APP, 0x10000, 0) + b"/bin/app" + bytes(8))
    for number, (misc, ip, chain, branches) in enumerate(samples):
        body = struct.pack("<QiiQQ", ip, 7, 7, 1_000_000_000 + number * 1000, 1000)
        body += struct.pack(f"<Q{len(chain)}Q", len(chain), *chain)
        if branch_sample_type:
            body += struct.pack("<Q", len(branches)) + b"".join(struct.pack("<QQQ", *pair, 0) for pair in branches)
        data += record(9, misc, body)
    sample_type = IP | TID | TIME | CALLCHAIN | PERIOD | (BRANCH_STACK if branch_sample_type else 0)
    attr = struct.pack("<IIQQQQQ", 0, 128, 0, 1000, sample_type, 0, 1 << 3 | 1 << 0 | 1 << 1) + bytes(24)
    attr += struct.pack("<Q", branch_sample_type) + bytes(28) + struct.pack("<H", max_stack) + bytes(18)
    attr += struct.pack("<QQ", 0, 0)
    at = 104 + len(attr)
    head = b"PERFILE2" + struct.pack("<8Q", 104, len(attr), 104, len(attr), at, len(data), 0, 0) + bytes(32)
    path.write_bytes(head + attr + data)
    return path


def stacks(data: Path, out: Path) -> list[tuple[list[int], int, str | None]]:
    """Addresses, kernel frames and the reason for its end, of each sample's callchain."""
    out.mkdir()
    import_core().import_capture(str(data), str(out), {}, lambda *_: None)
    case = duckdb.connect()
    for table in ("sample", "stack", "frame"):
        case.execute(f"CREATE VIEW {table} AS FROM '{out}/tables/{table}.parquet'")
    addresses = dict(case.execute("SELECT frame_id, address FROM frame").fetchall())
    rows = case.execute(
        "SELECT frame_ids, kernel_depth, end_reason FROM sample JOIN stack USING (stack_id) ORDER BY sample_id"
    )
    return [([addresses[frame] for frame in frames], depth, reason) for frames, depth, reason in rows.fetchall()]


def perfs(data: Path) -> list[list[int]]:
    """The addresses that perf script prints."""
    command = ["perf", "script", "-i", str(data), "--max-stack", "1024", "-F", "time,ip"]
    try:
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        pytest.skip("needs perf")
    return [[int(line, 16) for line in block.splitlines()[1:]] for block in text.split("\n\n") if block.strip()]


def in_memory(addresses: list[int]) -> list[int]:
    """The file offsets of /bin/app as addresses, which perf prints where it has no file."""
    return [address + APP if address < 0x10000 else address for address in addresses]


CALLS = [(APP + 0x1100, APP + 0x2000), (APP + 0x1200, APP + 0x1000), (APP + 0x1300, APP + 0x1180)]
LBR: list[Sample] = [
    # In user mode: what the frame pointers say is replaced.
    (2, APP + 0x2010, [IN_USER, APP + 0x2010, APP + 0x9999], CALLS),
    # In the kernel: its own part stays.
    (1, KERNEL + 0x10, [IN_KERNEL, KERNEL + 0x10, KERNEL + 0x20, IN_USER, APP + 0x2010, APP + 0x9999], CALLS),
    # Without a user part there is nothing to replace.
    (1, KERNEL + 0x10, [IN_KERNEL, KERNEL + 0x10, KERNEL + 0x20], CALLS),
]


def test_branches_of_calls_are_the_user_part(tmp_path: Path) -> None:
    data = perf_data(tmp_path / "perf.data", LBR, CALL_STACK)
    ours = stacks(data, tmp_path / "case")
    user = [0x2000, 0x1100, 0x1200, 0x1300]
    kernel = [KERNEL + 0x10, KERNEL + 0x20]
    assert ours == [(user, 0, None), (kernel + user, 2, None), (kernel, 2, None)]
    assert [in_memory(addresses) for addresses, *_ in ours] == [in_memory(addresses) for addresses in perfs(data)]


def test_other_branches_leave_the_callchain_alone(tmp_path: Path) -> None:
    data = perf_data(tmp_path / "perf.data", LBR[:2], CALL_STACK & ~(1 << 11))
    ours = stacks(data, tmp_path / "case")
    assert [addresses[-2:] for addresses, *_ in ours] == [[0x2010, 0x9999]] * 2
    assert [in_memory(addresses) for addresses, *_ in ours] == [in_memory(addresses) for addresses in perfs(data)]


@pytest.mark.parametrize(("max_stack", "limit"), [(0, 127), (20, 20)])
def test_a_chain_of_the_kernels_limit_says_so(tmp_path: Path, max_stack: int, limit: int) -> None:
    def chain(count: int) -> Sample:
        return (1, KERNEL, [IN_KERNEL, KERNEL, KERNEL + 8, IN_USER, *(APP + 16 * n for n in range(count - 2))], [])

    data = perf_data(tmp_path / "perf.data", [chain(limit - 1), chain(limit)], 0, max_stack)
    ours = stacks(data, tmp_path / "case")
    assert [(len(addresses), reason) for addresses, _, reason in ours] == [
        (limit - 1, None),
        (limit, "the kernel's limit of frames"),
    ]
    assert [in_memory(addresses) for addresses, *_ in ours] == [in_memory(addresses) for addresses in perfs(data)]

"""A perf.data of system calls, switches, wakeups, forks and exits that never happened."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ENTER, EXIT, SWITCH, WAKING, STATE = 101, 102, 103, 104, 105
"""The numbers of the events, which are also the keys of their samples."""
_TASK = "\tfield:char {0}comm[16];\toffset:{1};\tsize:16;\tsigned:0;\n\tfield:pid_t {0}pid;\toffset:{2};\tsize:4;\tsigned:1;\n"
FORMATS = {
    ("raw_syscalls", "sys_enter"): (
        ENTER,
        "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n",
    ),
    ("raw_syscalls", "sys_exit"): (
        EXIT,
        "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n",
    ),
    ("sched", "sched_switch"): (
        SWITCH,
        _TASK.format("prev_", 8, 24)
        + "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
        + _TASK.format("next_", 40, 56)
        + "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n",
    ),
    ("sched", "sched_waking"): (
        WAKING,
        _TASK.format("", 8, 24)
        + "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n",
    ),
    ("sock", "inet_sock_set_state"): (
        STATE,
        "\tfield:const void * skaddr;\toffset:8;\tsize:8;\tsigned:0;\n"
        + "".join(
            f"\tfield:int {name}state;\toffset:{at};\tsize:4;\tsigned:1;\n" for name, at in (("old", 16), ("new", 20))
        )
        + "".join(
            f"\tfield:__u16 {name};\toffset:{24 + 2 * n};\tsize:2;\tsigned:0;\n"
            for n, name in enumerate(("sport", "dport", "family", "protocol"))
        )
        + "".join(
            f"\tfield:__u8 {name}[{size}];\toffset:{at};\tsize:{size};\tsigned:0;\n"
            for name, at, size in (("saddr", 32, 4), ("daddr", 36, 4), ("saddr_v6", 40, 16), ("daddr_v6", 56, 16))
        ),
    ),
}
COMMON = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
)
# PERF_SAMPLE_TID, _TIME, _CPU, _RAW, _IDENTIFIER.
SAMPLE_TYPE = 1 << 1 | 1 << 2 | 1 << 7 | 1 << 10 | 1 << 16
SAMPLE_ID_ALL = 1 << 18
TRACING_DATA, ARCH = 1, 6
"""Features of the header."""


@dataclass
class Recording:
    """Records in the order of their times, which the caller keeps."""

    records: list[bytes] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    """What switches and wakeups call the threads; others are "before", "after" and "woken"."""

    def enter(self, ns: int, pid: int, tid: int, number: int, args: Sequence[int]) -> None:
        """Add a call's entry. ``ns``: the time; missing arguments are 0."""
        filled = [*args, *[0] * (6 - len(args))]
        self._sample(ns, pid, tid, ENTER, struct.pack("<q6Q", number, *(arg % (1 << 64) for arg in filled)))

    def exit(self, ns: int, pid: int, tid: int, number: int, ret: int) -> None:
        """Add a call's return."""
        self._sample(ns, pid, tid, EXIT, struct.pack("<qq", number, ret))

    def switch(self, ns: int, cpu: int, before: int, state: int, after: int) -> None:
        """Add a switch from one thread to another, which are their processes' only ones; ``state``: the kernel's bits."""
        body = struct.pack("<16siiq", self._name(before, "before"), before, 120, state)
        body += struct.pack("<16sii", self._name(after, "after"), after, 120)
        self._sample(ns, before, before, SWITCH, body, cpu)

    def waking(self, ns: int, cpu: int, waker: int, woken: int) -> None:
        """Add a wakeup of a thread."""
        self._sample(ns, waker, waker, WAKING, struct.pack("<16siii", self._name(woken, "woken"), woken, 120, cpu), cpu)

    def _name(self, tid: int, otherwise: str) -> bytes:
        return self.names.get(tid, otherwise).encode()

    def state(
        self, ns: int, pid: int, tid: int, skaddr: int, states: tuple[int, int], ports: tuple[int, int], family: int = 2
    ) -> None:
        """Add a change of the state of a TCP socket on 127.0.0.1 or ::1; ``ports``: its own and the other end's."""
        v4, v6 = b"\x7f\0\0\1", bytes(15) + b"\1"
        body = struct.pack("<Qii4H", skaddr, *states, *ports, family, 6) + v4 * 2 + v6 * 2
        self._sample(ns, pid, tid, STATE, body)

    def fork(self, ns: int, pid: int, tid: int, parent_pid: int, parent_tid: int) -> None:
        """Add the creation of a process, or of a thread where ``pid`` is its creator's."""
        self._task(7, ns, pid, tid, parent_pid, parent_tid)

    def end(self, ns: int, pid: int, tid: int) -> None:
        """Add the end of a thread."""
        self._task(4, ns, pid, tid, pid, tid)

    def comm(self, ns: int, pid: int, tid: int, name: str) -> None:
        """Add the name of a thread."""
        text = name.encode() + b"\0"
        text += bytes(-len(text) % 8)
        self._record(3, struct.pack("<II", pid, tid) + text + _sample_id(ns, pid, tid))

    def _task(self, kind: int, ns: int, pid: int, tid: int, parent_pid: int, parent_tid: int) -> None:
        self._record(kind, struct.pack("<IIIIQ", pid, parent_pid, tid, parent_tid, ns) + _sample_id(ns, pid, tid))

    def _sample(self, ns: int, pid: int, tid: int, event: int, payload: bytes, cpu: int = 0) -> None:
        raw = struct.pack("<HBBi", event, 0, 0, tid) + payload
        size = (len(raw) + 4 + 7) // 8 * 8 - 4
        head = struct.pack("<QIIQII", event, pid, tid, ns, cpu, 0)
        self._record(9, head + struct.pack("<I", size) + raw.ljust(size, b"\0"))

    def _record(self, kind: int, body: bytes) -> None:
        self.records.append(struct.pack("<IHH", kind, 0, 8 + len(body)) + body)

    def write(self, path: Path) -> Path:
        """Write the file."""
        attrs, ids = b"", b""
        ids_at = 104
        for event, _ in FORMATS.values():
            attrs += struct.pack("<IIQQQQQ", 2, 112, event, 1, SAMPLE_TYPE, 0, SAMPLE_ID_ALL).ljust(112, b"\0")
            attrs += struct.pack("<QQ", ids_at + len(ids), 8)
            ids += struct.pack("<Q", event)
        attrs_at, data = ids_at + len(ids), b"".join(self.records)
        data_at = attrs_at + len(attrs)
        features = {TRACING_DATA: _tracing_data(), ARCH: struct.pack("<I", 64) + b"x86_64".ljust(64, b"\0")}
        sections, content = b"", b""
        content_at = data_at + len(data) + 16 * len(features)
        for feature in features.values():
            sections += struct.pack("<QQ", content_at + len(content), len(feature))
            content += feature
        flags = sum(1 << number for number in features)
        header = (
            b"PERFILE2" + struct.pack("<QQ", 104, 128) + struct.pack("<QQQQ", attrs_at, len(attrs), data_at, len(data))
        )
        header += struct.pack("<QQ", 0, 0) + struct.pack("<QQQQ", flags, 0, 0, 0)
        path.write_bytes(header + ids + attrs + data + sections + content)
        return path


def _sample_id(ns: int, pid: int, tid: int) -> bytes:
    return struct.pack("<IIQIIQ", pid, tid, ns, 0, 0, ENTER)


def _tracing_data() -> bytes:
    """Return what perf keeps of tracefs."""
    page = (
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
        "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
    )
    out = b"\x17\x08\x44tracing0.6\0" + struct.pack("<BBI", 0, 8, 4096)
    out += b"header_page\0" + _sized(page) + b"header_event\0" + _sized("# compressed entry header\n")
    systems = sorted({system for system, _ in FORMATS})
    out += struct.pack("<I", 0) + struct.pack("<I", len(systems))
    for system in systems:
        events = {name: of for (its, name), of in FORMATS.items() if its == system}
        out += system.encode() + b"\0" + struct.pack("<I", len(events))
        for name, (number, fields) in events.items():
            out += _sized(f'name: {name}\nID: {number}\nformat:\n{COMMON}{fields}\nprint fmt: ""\n')
    return out + struct.pack("<IIQ", 0, 0, 0)


def _sized(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()

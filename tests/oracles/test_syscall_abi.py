"""Programs of 32 bits, and tracepoints of single calls (sys_enter_openat), against the events themselves.

perf trace names the calls of a program of 32 bits by the table for 64 (its getpid is writev, its execve munmap), so
it is no judge here. The program's calls are known instead: `hello32.s` in tests/data/captures/README.md.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter
from pathlib import Path

from perfcase.case import store
from tests.oracles.captures import DATA, TYPED_AND_RAW, Recorded
from tests.oracles.compare import assert_same
from tests.oracles.conftest import Case

COMPAT = Recorded("x86_64", "compat", ())
TYPED = Recorded("x86_64", "typed", ("script-typed",))


def test_the_calls_of_a_program_of_32_bits_by_their_own_names(case_of) -> None:
    case = case_of(COMPAT)
    rows = case.rows("""
        SELECT l.text, s.abi, s.errno_name FROM syscall AS s JOIN syscall_log AS l USING (ts_ns, utid)
        WHERE utid = (SELECT DISTINCT utid FROM syscall WHERE abi = 'i386') ORDER BY s.ts_ns
    """)
    around = [(re.sub(r"0x[0-9a-f]+|\b\d{3,}\b", "N", text), abi, errno) for text, abi, errno in rows[2:9]]
    assert around == [
        ("execve(N, N, N) = 0", "x86_64", None),
        ("getpid() = N", "i386", None),
        ("open(N, O_RDONLY) = -1 ENOENT", "i386", "ENOENT"),
        ("write(1, N, 3) = 3", "i386", None),
        # It becomes /bin/true, of 64 bits.
        ("execve(N, N, NULL) = 0", "i386", None),
        ("brk(NULL) = N", "x86_64", None),
        ("mmap(NULL, N, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = N", "x86_64", None),
    ]
    assert case.rows("SELECT name FROM syscall WHERE name LIKE 'syscall\\_%' ESCAPE '\\'") == []
    assert case.rows("SELECT errno FROM syscall WHERE errno IS NOT NULL AND errno_name IS NULL") == []


def test_a_call_that_both_kinds_of_tracepoint_recorded_is_there_once(case_of) -> None:
    case = case_of(COMPAT)
    events = dict(case.rows("SELECT name, sample_count FROM perf_event"))
    entries, returns = case.rows("""
        SELECT count(*) FILTER (pairing <> 'exit_only'), count(*) FILTER (pairing <> 'enter_only') FROM syscall
    """)[0]
    assert events["syscalls:sys_enter_openat"] > 5
    assert (entries, returns) == (events["raw_syscalls:sys_enter"], events["raw_syscalls:sys_exit"])


def test_tracepoints_of_single_calls_make_the_same_table(case_of) -> None:
    case = case_of(TYPED)
    ours, theirs = Counter(), Counter()
    for name, ts_ns, exit_ts_ns, args, ret in case.rows(
        "SELECT s.name, s.ts_ns + c.start_clock_ns, s.exit_ts_ns + c.start_clock_ns, s.args, s.ret"
        " FROM syscall AS s CROSS JOIN capture AS c WHERE s.pairing = 'strict'"
    ):
        ours[ts_ns, "enter", name, tuple(args)] += 1
        ours[exit_ts_ns, "exit", name, (ret % 2**64,)] += 1
    line = re.compile(r"\s(?P<s>\d+)\.(?P<ns>\d{9}): +syscalls:sys_(?P<kind>enter|exit)_(?P<name>\w+): (?P<values>.*)$")
    for text in TYPED.text("script-typed").splitlines():
        found = line.search(text)
        assert found, text
        values = tuple(int(value, 16) for value in re.findall(r"0x([0-9a-f]+)", found["values"]))
        theirs[int(found["s"]) * 10**9 + int(found["ns"]), found["kind"], found["name"], values] += 1
    assert sum(theirs.values()) > 50
    assert_same(ours, theirs, "events")
    # Their own tables, with a column for each argument, are there as well.
    enters = sum(count for (_, kind, name, _), count in theirs.items() if (kind, name) == ("enter", "openat"))
    assert case.value("SELECT count(*) FROM sys_enter_openat") == enters


# The return from a signal handler has no number, and so no tracepoint of its own.
BOTH_SQL = """
SELECT t.tid, s.name, s.number, s.args, s.ret, s.errno_name, s.pairing, s.cut_at, s.abi
FROM syscall AS s JOIN thread AS t USING (utid) WHERE s.name <> 'rt_sigreturn' ORDER BY s.utid, s.ts_ns, s.exit_ts_ns
"""


def test_trace_cmd_tracepoints_of_single_calls_make_the_table_of_raw_syscalls(tmp_path: Path) -> None:
    data = TYPED_AND_RAW.bytes()
    # The same file in which the events of raw_syscalls have other names: their single calls' events are all there is.
    typed_only = data.replace(b"name: sys_enter\n", b"name: sys_entex\n").replace(
        b"name: sys_exit\n", b"name: sys_exix\n"
    )
    assert sum(a != b for a, b in zip(data, typed_only, strict=True)) == 2
    rows = []
    for name, content in (("raw", data), ("typed", typed_only)):
        (tmp_path / f"{name}.dat").write_bytes(content)
        rows.append(Case(store.open_case(tmp_path / f"{name}.dat", tmp_path / name).folder).rows(BOTH_SQL))
    raw, typed = rows
    assert len(raw) > 500
    assert {row[-1] for row in raw} == {"x86_64"}
    # A tracepoint of one call has the arguments that the call has.
    assert [(*a[:3], a[3] and a[3][: len(b[3] or [])], *a[4:]) for a, b in zip(raw, typed, strict=True)] == typed


def test_a_program_of_32_bits_that_ran_before_a_bare_trace_is_an_issue(tmp_path: Path) -> None:
    (tmp_path / "trace.dat").write_bytes(lzma.decompress((DATA / "x86_64" / "trace-compat.dat.xz").read_bytes()))
    case = Case(store.open_case(tmp_path / "trace.dat").folder)
    # sleep, trace-cmd and the others pass pointers, which do not fit into 32 bits.
    calls = case.value("SELECT count(*) FROM syscall JOIN thread USING (utid) WHERE comm = 'loop32'")
    (issue,) = case.rows("SELECT severity, count, message FROM import_issue WHERE kind = 'syscall_abi_unknown'")
    assert issue == (
        "warning",
        calls,
        "nothing tells whether programs of 32 bits or of 64 made system calls of one thread or process (loop32): they have"
        " the names that their numbers have for 64",
    )
    assert calls > 50
    assert case.value("SELECT count(DISTINCT utid) FROM syscall") > 1

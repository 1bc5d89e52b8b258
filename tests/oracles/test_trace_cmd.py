"""trace.dat against `trace-cmd report -R -t`: every event, its time to the nanosecond, CPU, thread and every field."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict

import pytest

from tests.oracles.captures import TYPED_AND_RAW, Recorded, recorded_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import trace_cmd

# Their fields are in the table `syscall`, an entry and its return in one row.
SYSCALLS = ("sys_enter", "sys_exit")
FIELDS = pytest.mark.parametrize(
    "capture", [*recorded_with("trace-cmd"), TYPED_AND_RAW], ids=lambda capture: capture.id
)
FORMATS = pytest.mark.parametrize("capture", recorded_with("trace-cmd"), ids=lambda capture: capture.id)


def events_by_name(capture: Recorded) -> dict[str, list[trace_cmd.Event]]:
    found: dict[str, list[trace_cmd.Event]] = defaultdict(list)
    for event in trace_cmd.events(capture.text("trace-cmd")):
        found[event.name].append(event)
    return found


@FIELDS
def test_every_field_of_every_event(capture: Recorded, case_of) -> None:
    case = case_of(capture)
    for name, events in events_by_name(capture).items():
        if name in SYSCALLS:
            continue
        types = {column: kind for column, kind, *_ in case.rows(f'DESCRIBE "{name}"')}
        fields = list(events[0].fields)
        assert set(fields) <= set(types), f"{name}: columns are missing"
        columns = "".join(f', e."{field}"' for field in fields)
        ours = Counter(
            case.rows(f"""
                SELECT e.ts_ns + c.start_clock_ns, e.cpu, t.tid{columns}
                FROM capture AS c, "{name}" AS e LEFT JOIN thread AS t USING (utid)
            """)
        )
        theirs = Counter(
            (event.time_ns, event.cpu, event.tid, *(cell(types[f], f, event.fields[f]) for f in fields))
            for event in events
        )
        assert_same(ours, theirs, name)


def cell(kind: str, field: str, text: str) -> object:
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        return text
    number = trace_cmd.number(field, text)
    # It prints some signed numbers (ret of sys_exit_execve) in hexadecimal, as they are in memory.
    return number - 2**64 if kind == "BIGINT" and number >= 2**63 else number


@FORMATS
def test_every_system_call(capture: Recorded, case_of) -> None:
    case = case_of(capture)
    found = events_by_name(capture)
    entries = Counter(
        (event.time_ns, event.tid, int(event.fields["id"]), struct.unpack("<6Q", args(event)))
        for event in found["sys_enter"]
    )
    ours = Counter(
        (ts_ns, tid, number, tuple(values))
        for ts_ns, tid, number, values in case.rows("""
            SELECT s.ts_ns + c.start_clock_ns, t.tid, s.number, s.args
            FROM capture AS c, syscall AS s JOIN thread AS t USING (utid) WHERE s.pairing <> 'exit_only'
        """)
    )
    assert_same(ours, entries)
    exits = Counter((e.time_ns, e.tid, int(e.fields["id"]), int(e.fields["ret"])) for e in found["sys_exit"])
    ours = Counter(
        case.rows("""
            SELECT s.exit_ts_ns + c.start_clock_ns, t.tid, s.number, s.ret
            FROM capture AS c, syscall AS s JOIN thread AS t USING (utid) WHERE s.pairing <> 'enter_only'
        """)
    )
    assert_same(ours, exits)


def args(event: trace_cmd.Event) -> bytes:
    return trace_cmd.array_bytes(event.fields["args"])


@FORMATS
def test_counts_of_each_event(capture: Recorded, case_of) -> None:
    case = case_of(capture)
    theirs = {name: len(events) for name, events in events_by_name(capture).items()}
    ours = case.rows("SELECT split_part(name, ':', 2), sample_count FROM perf_event WHERE sample_count > 0")
    assert dict(ours) == theirs


@FORMATS
def test_nothing_is_reported_lost_that_trace_cmd_does_not_report(capture: Recorded, case_of) -> None:
    assert "DROPPED" not in capture.text("trace-cmd")
    assert case_of(capture).rows("SELECT * FROM import_issue") == []

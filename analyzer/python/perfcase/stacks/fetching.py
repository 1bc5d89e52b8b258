"""Stacks of a capture as pictures and other tools want them: frames root first, below the thread's name, with a weight.

They are fetched as they are asked for: a connection can do nothing else until they are all read.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from perfcase.case.query import gate, sql_errors
from perfcase.catalogue.kit import expand
from perfcase.catalogue.schema import literal
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.stacks.shaping import Shaping, names_of
from perfcase.stacks.tree import Frame, Stack

Step = TypeVar("Step")
"""A frame, or a label among frames, as the caller wants it."""

_BATCH_ROWS = 10_000

_HAS_FRAMES = 1 << 0 | 1 << 5
"""PERF_SAMPLE_IP and PERF_SAMPLE_CALLCHAIN (linux/perf_event.h)."""

_HAS_PERIOD = 1 << 8
"""PERF_SAMPLE_PERIOD."""

_TIMED = {f"sched:sched_stat_{name}" for name in ("runtime", "wait", "sleep", "iowait", "blocked")}
"""Tracepoints whose period is a time in ns: the kernel gives perf their delay or runtime as the count (__perf_count in
include/trace/events/sched.h)."""

# What stands for time, best first; a tracepoint's profile says how often, not how long.
_CLOCKS = ("cycles", "cpu-clock", "task-clock", "cpu-cycles", "instructions")

SAMPLES = (
    "SELECT s.*, v.name AS event, coalesce(n.comm, t.comm) AS comm, t.tid, t.pid FROM sample AS s"
    " JOIN perf_event AS v USING (event_id) LEFT JOIN thread AS t USING (utid)"
    " LEFT JOIN thread_name AS n ON n.name_id = s.name_id WHERE s.frame_id IS NOT NULL OR s.stack_id IS NOT NULL"
)
"""What function_profile counts: a condition may name columns of sample, thread and event; comm is the thread's name then."""

OFF_CPU = (
    "SELECT s.*, coalesce(n.comm, t.comm) AS comm, t.tid, t.pid FROM followed_state AS s JOIN thread AS t USING (utid)"
    " LEFT JOIN thread_name AS n ON n.name_id = s.name_id"
    " WHERE s.state NOT IN ('running', 'idle') AND NOT s.is_open"
)
"""What off_cpu_by_stack counts."""

OFF_WAKE = expand(
    "SELECT s.*, coalesce(m.comm, k.comm) AS waker_comm, @by_interrupt(s.waker_context, s.waker_utid) AS is_interrupt"
    f" FROM ({OFF_CPU}) AS s"
    " LEFT JOIN thread AS k ON k.utid = s.waker_utid LEFT JOIN thread_name AS m ON m.name_id = s.waker_name_id"
    " WHERE s.state NOT IN ('runnable', 'runnable_preempted')",
    "off_wake",
)
OFF_WAKE_NS = "duration_ns + coalesce(run_queue_ns, 0)"
"""What off_wake counts: sleeps, each until its thread is back on a CPU."""

BLAME = expand(
    "SELECT b.*, coalesce(n.comm, t.comm) AS comm, t.tid, t.pid, coalesce(k.comm, o.comm) AS on_comm,"
    " CASE WHEN b.device IS NOT NULL THEN b.device ELSE coalesce(@other_end(d.local, d.peer), d.target, d.kind) END AS on_target"
    " FROM blame AS b JOIN thread AS t USING (utid) LEFT JOIN thread_name AS n ON n.name_id = b.name_id"
    " LEFT JOIN thread AS o ON o.utid = b.on_utid LEFT JOIN thread_name AS k ON k.name_id = b.on_name_id"
    " LEFT JOIN descriptor AS d ON d.descriptor_id = b.on_descriptor_id",
    "blame",
)
"""What blame_by_comm counts."""

ASIDE = {
    "idle": "pid = 0 OR tid = 0",
    "recorder": "utid IN (SELECT utid FROM recorder_thread)",
    "kernel threads": "utid IN (SELECT t.utid FROM thread AS t JOIN process AS p USING (upid) LEFT JOIN process AS k ON k.upid = p.parent_upid"
    " WHERE (p.pid = 2 AND p.name = 'kthreadd') OR (k.pid = 2 AND k.name = 'kthreadd'))",
}
"""What a host does beside its work: a condition on samples and waits for each. Who is a kernel thread only snapshots of /proc say."""

NOT_IDLE = f"({ASIDE['idle']}) IS NOT TRUE AND ({ASIDE['recorder']}) IS NOT TRUE"
"""Neither the idle loop nor the recorder: what two captures are compared by."""

WORKLOAD = f"{NOT_IDLE} AND ({ASIDE['kernel threads']}) IS NOT TRUE"
"""None of ``ASIDE``."""

OFF_CPU_TITLE = "time off the CPU"
OFF_WAKE_TITLE = "time asleep, with wakers"
BLAME_TITLE = "time waited with work, and what it is due to"
"""What is counted in pictures of it, as an event is where samples are."""


def sampling_event(events: Iterable[str]) -> str | None:
    """Return the one of these events that says best where CPU time goes; None without such an event."""
    names = list(events)
    for clock in _CLOCKS:
        for event in names:
            if event_base(event) == clock:
                return event
    return None


def event_base(event: str) -> str:
    """Return an event's name without modifiers: cpu-clock of cpu-clock/freq=99/, cycles of cycles:u."""
    return event.split(":")[0].split("/")[0]


def event_unit(event: str, *, is_tracepoint: bool = False, is_weighted: bool = False) -> str:
    """Return what a period of an event counts. ``is_weighted``: its samples have a period of their own."""
    if event_base(event) in ("cpu-clock", "task-clock") or (is_weighted and event in _TIMED):
        return "ns"
    return "events" if is_tracepoint else event_base(event)


def sampled_events(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the events that have samples with an address or a callchain, those with the most first, and the units of their periods."""
    return {name: unit for name, unit, _ in event_counts(connection)}


def event_counts(connection: duckdb.DuckDBPyConnection, *, is_whole: bool = False) -> list[tuple[str, str, int]]:
    """Return the events that have samples with an address or a callchain: name, unit of a period, samples; those with the most first.

    ``is_whole``: the connection is to all of a capture. Then perf's own description of its events says it without a look at
    every sample, where there is one (the text of perf script has none).
    """
    described = "sample_type IS NOT NULL OR kind IN ('trace_dat', 'ftrace_raw')"
    ((is_described,),) = connection.execute(
        f"SELECT coalesce(bool_and({described}), false) FROM perf_event JOIN source USING (source_id)"
    ).fetchall()
    if is_whole and is_described:
        counted = f"SELECT event_id, sample_count AS number FROM perf_event WHERE sample_type & {_HAS_FRAMES} <> 0 AND sample_count > 0"
    else:
        counted = (
            "SELECT event_id, count(*) AS number FROM sample WHERE frame_id IS NOT NULL OR stack_id IS NOT NULL"
            " GROUP BY event_id"
        )
    rows = connection.execute(
        f"SELECT v.name, bool_or(v.is_tracepoint), coalesce(bool_and(v.sample_type & {_HAS_PERIOD} <> 0), false), sum(s.number)::BIGINT AS number"
        f" FROM ({counted}) AS s JOIN perf_event AS v USING (event_id) GROUP BY v.name ORDER BY number DESC, v.name"
    ).fetchall()
    return [
        (name, event_unit(name, is_tracepoint=is_tracepoint, is_weighted=is_weighted), number)
        for name, is_tracepoint, is_weighted, number in rows
    ]


def choose_event(connection: duckdb.DuckDBPyConnection, wanted: str | None) -> tuple[str, str]:
    """Return the event that is asked for, or the one that says best where CPU time goes; and its unit."""
    return chosen_event(sampled_events(connection), wanted)


def chosen_event(events: Mapping[str, str], wanted: str | None) -> tuple[str, str]:
    """Choose the event among those of sampled_events, as choose_event does."""
    if wanted is None:
        chosen = sampling_event(events) or next(iter(events), None)
        if chosen is None:
            raise PerfcaseError(
                "not_found", "the capture has no samples", "perfcase view view_coverage says what to record"
            )
        return chosen, events[chosen]
    matching = [name for name in events if wanted in (name, event_base(name), name.partition(":")[2])]
    if len(matching) != 1 and wanted not in matching:
        near = matching or difflib.get_close_matches(wanted, events, n=3) or sorted(events)[:8]
        hint = f"samples are of {', '.join(near)}" if near else "it has none of any event"
        raise PerfcaseError("not_found", f"the capture has no samples of an event {wanted}", hint)
    chosen = wanted if wanted in matching else matching[0]
    return chosen, events[chosen]


def sample_stacks(
    connection: duckdb.DuckDBPyConnection, event: str, where: str | None = None, weight: str = "coalesce(period, 1)"
) -> Iterator[Stack]:
    """Yield the callchains of an event's samples; the weight is their period by default."""
    for path, total, _ in sample_paths(connection, event, frame_names(connection), _label, where, weight):
        yield path, total


def off_cpu_stacks(connection: duckdb.DuckDBPyConnection, where: str | None = None) -> Iterator[Stack]:
    """Yield the callchains with which threads left their CPUs, with the time that they stayed away; the state is the leaf."""
    for path, ns, _ in off_cpu_paths(connection, frame_names(connection), _label, where):
        yield path, ns


def off_wake_stacks(connection: duckdb.DuckDBPyConnection, where: str | None = None) -> Iterator[Stack]:
    """Yield the callchains with which threads fell asleep, on each the callchain of who woke them, upside down, as off_wake has them.

    The weight is the time from leaving the CPU to being back on one. Where the two meet stands the state.
    """
    for path, ns, _ in off_wake_paths(connection, frame_names(connection), _label, where):
        yield path, ns


def blame_stacks(connection: duckdb.DuckDBPyConnection, where: str | None = None) -> Iterator[Stack]:
    """Yield what threads with work waited for: the work, the callchain with which they left their CPU, the thread that the time is
    due to, its call, the cause."""
    frames = frame_names(connection)
    sql = (
        "SELECT w.comm, s.frame_ids, NULL AS frame_id, w.work, w.is_own, w.on_comm, w.on_call, w.cause, w.on_target, w.weight FROM ("
        " SELECT comm, stack_id, work, on_utid = utid AS is_own, on_comm, on_call, cause, on_target, sum(duration_ns)::HUGEINT AS weight"
        f" FROM ({BLAME}) WHERE true{_and(where)} GROUP BY ALL"
        ") AS w LEFT JOIN stack AS s USING (stack_id)"
        " ORDER BY w.comm, w.work, w.stack_id, w.is_own, w.on_comm, w.on_call, w.cause, w.on_target"
    )
    for comm, ids, (work, is_own, on_comm, on_call, cause, on_target, ns) in _chains(connection, sql, where):
        path = [_label(comm), _label(f"[{work}]"), *(frames[each] for each in ids)]
        path += [] if is_own else [_label(f"waits for {on_comm or '[unknown]'}")]
        path += [_label(on_call)] if on_call else []
        yield [*path, _label(f"[{cause}]" + (f" {on_target}" if on_target else ""))], ns


def left_out(connection: duckdb.DuckDBPyConnection, rows: str, weight: str, where: str | None) -> list[dict[str, Any]]:
    """Return the weight of each kind of ``ASIDE`` in ``rows`` (SAMPLES, OFF_CPU, …), the heaviest first: what ``WORKLOAD`` leaves out.

    Raises:
        PerfcaseError: the condition is wrong (sql).
    """
    kinds = " ".join(f"WHEN {condition} THEN {literal(name)}" for name, condition in ASIDE.items())
    sql = (
        f"SELECT CASE {kinds} END AS what, sum({weight})::HUGEINT AS weight FROM ({rows}) WHERE true{_and(where)}"
        " GROUP BY what HAVING what IS NOT NULL AND weight > 0 ORDER BY weight DESC, what"
    )
    if where:
        gate(connection, sql)
    with sql_errors():
        return [{"what": what, "weight": weight} for what, weight in connection.execute(sql).fetchall()]


def condition_of(connection: duckdb.DuckDBPyConnection, shaping: Shaping) -> str:
    """Return a condition on SAMPLES that holds for those whose callchain shaping does not leave out: for what has no tree."""
    wanted = {*shaping.include, *shaping.exclude}
    if not wanted:
        return "true"
    threads, frames = defaultdict(list), defaultdict(list)
    with sql_errors():
        comms = connection.execute(
            f"SELECT DISTINCT coalesce(nullif(comm, ''), '[unknown]') FROM ({SAMPLES})"
        ).fetchall()
    for (comm,) in comms:
        for name in wanted & names_of(_label(comm), shaping.collapse):
            threads[name].append(literal(comm))
    for number, frame in frame_names(connection).items():
        for name in wanted & names_of(frame, shaping.collapse):
            frames[name].append(str(number))

    def has(name: str) -> str:
        ids, of_threads = ", ".join(frames[name]), ", ".join(threads[name])
        found = [f"coalesce(nullif(comm, ''), '[unknown]') IN ({of_threads})"] if of_threads else []
        if ids:
            found.append(
                f"CASE WHEN stack_id IS NULL THEN coalesce(frame_id IN ({ids}), false)"
                f" ELSE stack_id IN (SELECT stack_id FROM stack WHERE list_has_any(frame_ids, [{ids}])) END"
            )
        return f"({' OR '.join(found)})" if found else "false"

    return " AND ".join([*(has(name) for name in shaping.include), *(f"NOT {has(name)}" for name in shaping.exclude)])


def _label(text: str) -> Frame:
    return Frame(text, "label")


def sample_paths(
    connection: duckdb.DuckDBPyConnection,
    event: str,
    frames: Mapping[int, Step],
    label: Callable[[str], Step],
    where: str | None = None,
    weight: str = "coalesce(period, 1)",
) -> Iterator[tuple[list[Step], int, int]]:
    """Yield the same as sample_stacks, with steps that ``frames`` has by frame_id and ``label`` makes of other text; with the number of samples."""
    sql = (
        "SELECT w.comm, s.frame_ids, w.frame_id, w.weight, w.number FROM ("
        " SELECT comm, stack_id, CASE WHEN stack_id IS NULL THEN frame_id END AS frame_id,"
        f"  sum({weight})::HUGEINT AS weight, count(*) AS number"
        f" FROM ({SAMPLES}) WHERE event = {literal(event)}{_and(where)} GROUP BY ALL"
        ") AS w LEFT JOIN stack AS s USING (stack_id) ORDER BY w.comm, w.stack_id, w.frame_id"
    )
    for comm, ids, (total, number) in _chains(connection, sql, where):
        yield [label(comm), *(frames[each] for each in ids)], total, number


def off_cpu_paths(
    connection: duckdb.DuckDBPyConnection,
    frames: Mapping[int, Step],
    label: Callable[[str], Step],
    where: str | None = None,
) -> Iterator[tuple[list[Step], int, int]]:
    """Yield the same as off_cpu_stacks, with steps as in sample_paths and the number of waits."""
    sql = (
        "SELECT w.comm, s.frame_ids, NULL AS frame_id, w.state, w.weight, w.number FROM ("
        " SELECT comm, stack_id, state, sum(duration_ns)::HUGEINT AS weight, count(*) AS number"
        f" FROM ({OFF_CPU}) WHERE true{_and(where)} GROUP BY ALL"
        ") AS w LEFT JOIN stack AS s USING (stack_id) ORDER BY w.comm, w.state, w.stack_id"
    )
    for comm, ids, (state, ns, number) in _chains(connection, sql, where):
        yield [label(comm), *(frames[each] for each in ids), label(f"[{state}]")], ns, number


def off_wake_paths(
    connection: duckdb.DuckDBPyConnection,
    frames: Mapping[int, Step],
    label: Callable[[str], Step],
    where: str | None = None,
) -> Iterator[tuple[list[Step], int, int]]:
    """Yield the same as off_wake_stacks, with steps as in sample_paths and the number of sleeps."""
    sql = (
        "SELECT w.comm, s.frame_ids, NULL AS frame_id, w.state, w.waker_comm, w.is_interrupt, k.frame_ids, w.weight, w.number FROM ("
        " SELECT comm, stack_id, state, waker_comm, is_interrupt, waker_stack_id,"
        f"  sum({OFF_WAKE_NS})::HUGEINT AS weight, count(*) AS number"
        f" FROM ({OFF_WAKE}) WHERE true{_and(where)} GROUP BY ALL"
        ") AS w LEFT JOIN stack AS s ON s.stack_id = w.stack_id LEFT JOIN stack AS k ON k.stack_id = w.waker_stack_id"
        " ORDER BY w.comm, w.state, w.stack_id, w.waker_comm, w.waker_stack_id, w.is_interrupt"
    )
    for comm, ids, (state, waker, is_interrupt, waker_ids, ns, number) in _chains(connection, sql, where):
        path = [label(comm), *(frames[each] for each in ids), label(f"[{state}]")]
        path += [frames[each] for each in waker_ids or ()]
        woken_by = "an interrupt" if is_interrupt else waker
        path.append(label(f"woken by {woken_by}" if woken_by else "[waker not known]"))
        yield path, ns, number


def _and(where: str | None) -> str:
    """Return a condition that was given, to be appended to others; it may end in a comment."""
    return f" AND ({where}\n)" if where else ""


def _chains(
    connection: duckdb.DuckDBPyConnection, sql: str, where: str | None
) -> Iterator[tuple[str, Iterable[int], list[Any]]]:
    """Yield rows of a SELECT of comm, frame_ids, frame_id, …: the thread's name, its frames, outermost first, the rest."""
    if where:
        gate(connection, sql)
    with sql_errors():
        cursor = connection.execute(sql)
        while batch := cursor.fetchmany(_BATCH_ROWS):
            for comm, frame_ids, frame_id, *rest in batch:
                ids = reversed(frame_ids) if frame_ids is not None else () if frame_id is None else (frame_id,)
                yield comm or "[unknown]", ids, rest


@sql_errors()
def frame_names(connection: duckdb.DuckDBPyConnection) -> dict[int, Frame]:
    """Return the name, kind and place of each frame; equal ones are one."""
    rows = connection.execute(
        "SELECT f.frame_id, l.label, CASE WHEN f.symbol IS NULL THEN 'unnamed' WHEN f.is_kernel THEN 'kernel'"
        " WHEN f.is_inlined THEN 'inlined' WHEN f.symbol_source IN ('perf-map', 'jitdump') THEN 'jit' ELSE 'user' END,"
        " l.dso, coalesce(f.source_file || coalesce(':' || f.source_line, ''), '')"
        " FROM frame AS f JOIN frame_label AS l USING (frame_id)"
    ).fetchall()
    known: dict[Frame, Frame] = {}
    found = {}
    for number, *rest in rows:
        frame = Frame(*rest)
        found[number] = known.setdefault(frame, frame)
    return found

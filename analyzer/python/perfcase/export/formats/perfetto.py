"""A Perfetto trace: scheduler events, system calls and waits as slices, counters, the samples of one event.

Scheduler events are written as ftrace's, from which Perfetto makes its own thread states; system calls are slices of their
threads; what a thread with work waited for is a track below its own; counters are tracks whose value holds for the interval that begins there. Times are CLOCK_BOOTTIME, Perfetto's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from perfcase.export import protobuf as pb
from perfcase.export.source import Samples
from perfcase.text import plural

READERS = "ui.perfetto.dev"
MEDIA = "binary"
SUFFIX = "perfetto-trace"
NEEDS_SAMPLES = False
UNSUPPORTED = (
    "what a sample stands for (its period: Perfetto counts samples), source lines, callchains of switches and waits, disks,"
    " networks, memory"
)

# Numbers of fields in perfetto/trace/trace_packet.proto, and of the messages in them.
_FTRACE, _PROCESS_TREE, _CLOCKS, _TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _INTERNED, _FLAGS = 1, 2, 6, 8, 10, 11, 12, 13
_SYSTEM, _DEFAULTS, _TRACK, _PERF_SAMPLE = 45, 59, 60, 66
_SWITCH, _WAKING = 4, 20
_BEGIN, _END, _COUNTER = 1, 2, 4
_CLEARED, _NEEDS = 1, 2
_BUNDLE_EVENTS = 1000
_BATCH_ROWS = 10_000
_REALTIME, _MONOTONIC, _BOOTTIME = 1, 3, 6
# Sequences: whose packets refer to each other's names.
_MAIN, _SAMPLES = 1, 2
_SYSCALL_TRACK, _COUNTER_TRACK, _WAIT_TRACK = 1 << 32, 1 << 33, 1 << 34


def write(samples: Samples, file: BinaryIO) -> None:
    """Write the trace; a capture without samples has no event."""
    for packet in _Trace(samples).packets():
        file.write(pb.message(1, packet))


class _Trace:
    def __init__(self, samples: Samples) -> None:
        self._given = samples
        self._connection = samples.connection
        self._lost = samples.lost
        self._progress = samples.progress
        self._done = 0
        self._threads: set[int] = set()
        row = (
            self._connection.execute(
                "SELECT start_clock_ns, start_boottime_ns, start_realtime_ns, kernel_release, machine FROM capture"
            ).fetchone()
            or (None,) * 5
        )
        self._monotonic, boottime, self._realtime = row[:3]
        self._system = row[3:]
        (first,) = self._connection.execute(
            "SELECT least((SELECT min(ts_ns) FROM sample), (SELECT min(ts_ns) FROM thread_state),"
            " (SELECT min(ts_ns) FROM syscall), 0)"
        ).fetchone()
        # Perfetto's times have no sign.
        self._start = max(boottime or self._monotonic or 0, -first)

    def packets(self) -> Iterator[bytes]:
        yield self._clocks()
        yield pb.message(_SYSTEM, self._utsname())
        yield pb.message(_PROCESS_TREE, b"".join(self._processes()))
        yield from self._sched()
        yield from self._syscalls()
        yield from self._waits()
        yield from self._counters()
        if self._given.event:
            yield from self._samples(self._given)

    def _rows(self, sql: str) -> Iterator[tuple]:
        cursor = self._connection.execute(sql)
        while batch := cursor.fetchmany(_BATCH_ROWS):
            yield from batch
            self._done += len(batch)
            self._progress(self._done)

    def _time(self, ts_ns: int) -> int:
        return self._start + ts_ns

    def _clocks(self) -> bytes:
        """Return one moment on all clocks, so that Perfetto can show wall time."""
        known = ((_BOOTTIME, self._start), (_MONOTONIC, self._monotonic), (_REALTIME, self._realtime))
        clocks = (pb.message(1, pb.number(1, clock) + pb.number(2, ns)) for clock, ns in known if ns)
        return pb.message(_CLOCKS, b"".join(clocks)) + pb.number(_SEQUENCE, _MAIN)

    def _utsname(self) -> bytes:
        release, machine = (value or "" for value in self._system)
        named = pb.text(1, "Linux") + pb.text(3, release) + pb.text(4, machine)
        return pb.message(1, named)

    def _processes(self) -> Iterator[bytes]:
        for pid, parent, name in self._rows(
            "SELECT p.pid, any_value(q.pid), last(p.name ORDER BY p.upid) FROM process AS p LEFT JOIN process AS q"
            " ON q.upid = p.parent_upid WHERE p.pid IS NOT NULL GROUP BY p.pid ORDER BY p.pid"
        ):
            yield pb.message(1, pb.number(1, pid) + pb.number(2, parent or 0) + pb.text(3, name or ""))
        for tid, pid, comm in self._rows(
            "SELECT tid, last(coalesce(pid, tid) ORDER BY utid), last(comm ORDER BY utid) FROM thread"
            " WHERE tid IS NOT NULL GROUP BY tid ORDER BY tid"
        ):
            yield pb.message(2, pb.number(1, tid) + (pb.text(2, comm) if comm else b"") + pb.number(3, pid))

    def _sched(self) -> Iterator[bytes]:
        tables = self._tables()
        if "sched_switch" not in tables:
            self._lost.append("scheduler events: the capture has none")
            return
        source = "source_id IN (SELECT source_id FROM source WHERE is_timeline)"
        # Perfetto takes the moment of sched_waking for that of the wakeup; where it was not recorded, sched_wakeup's.
        waking = "sched_waking" if "sched_waking" in tables else "sched_wakeup"
        if waking == "sched_wakeup":
            self._lost.append("sched_waking was not recorded: wakeups are sched_wakeup's, on the CPU where these ran")
        parts = [
            f"SELECT ts_ns, cpu, {_SWITCH} AS kind, prev_comm, prev_pid, prev_prio, prev_state, next_comm, next_pid,"
            f" next_prio, NULL AS current FROM sched_switch WHERE {source}"
        ]
        # Perfetto makes no wait of sched_wakeup_new: a new thread's first one shows if written as sched_waking.
        for table in (waking, "sched_wakeup_new"):
            if table in tables:
                parts.append(
                    f"SELECT w.ts_ns, w.cpu, {_WAKING}, w.comm, w.pid, w.prio, w.target_cpu, NULL, NULL, NULL, t.tid"
                    f" FROM {table} AS w LEFT JOIN thread AS t USING (utid) WHERE w.{source}"
                )
        cpu, events = None, []
        nowhere = 0
        for row in self._rows(f"{' UNION ALL '.join(parts)} ORDER BY cpu, ts_ns, kind"):
            if None in row[:2] or row[4] is None or (row[2] == _SWITCH and row[8] is None):
                nowhere += 1
                continue
            if events and (row[1] != cpu or len(events) == _BUNDLE_EVENTS):
                yield pb.message(_FTRACE, pb.number(1, cpu) + b"".join(events))
                events = []
            cpu = row[1]
            events.append(pb.message(2, self._ftrace_event(*row)))
        if events:
            yield pb.message(_FTRACE, pb.number(1, cpu) + b"".join(events))
        if nowhere:
            self._lost.append(f"{plural(nowhere, 'scheduler event')} without a time, a CPU or a thread")

    def _ftrace_event(self, ts_ns: int, _cpu: int, kind: int, *fields: object) -> bytes:
        comm, tid, prio, last, next_comm, next_tid, next_prio, current = fields
        event = pb.text(1, comm or "") + pb.number(2, tid) + pb.number(3, prio or 0)
        if kind == _SWITCH:
            event += (
                pb.number(4, last or 0)
                + pb.text(5, next_comm or "")
                + pb.number(6, next_tid)
                + pb.number(7, next_prio or 0)
            )
            current = tid
        else:
            event += pb.number(4, 1) + pb.number(5, last or 0)
        return pb.number(1, self._time(ts_ns)) + pb.number(2, current or 0) + pb.message(kind, event)

    def _syscalls(self) -> Iterator[bytes]:
        """Yield a slice a call, on its thread's own track."""
        if "syscall" not in self._tables():
            return
        (cut,) = self._connection.execute("SELECT count(*) FROM syscall WHERE duration_ns IS NULL").fetchone()
        if cut:
            self._lost.append(f"{plural(cut, 'system call')} of which the capture has not both ends")
        for utid, tid, pid, ts, end, name, ret, error in self._rows(
            "SELECT s.utid, t.tid, coalesce(t.pid, t.tid), s.ts_ns, s.exit_ts_ns, s.name, s.ret, s.errno_name"
            " FROM syscall AS s JOIN thread AS t USING (utid) WHERE s.duration_ns IS NOT NULL AND t.tid IS NOT NULL"
            " ORDER BY s.ts_ns, s.utid"
        ):
            track = _SYSCALL_TRACK + utid
            yield from self._thread(utid, pid, tid)
            details = pb.message(4, pb.text(10, "ret") + pb.number(4, ret)) if ret is not None else b""
            if error:
                details += pb.message(4, pb.text(10, "errno") + pb.text(6, error))
            event = (
                pb.number(9, _BEGIN) + pb.number(11, track) + pb.text(22, "syscall") + pb.text(23, name or "unknown")
            )
            yield self._event(ts, event + details)
            yield self._event(end, pb.number(9, _END) + pb.number(11, track))

    def _waits(self) -> Iterator[bytes]:
        """Yield a slice a part of a wait, named by what it is due to, on a track below its thread's."""
        threads = set()
        for utid, tid, pid, ts, end, due, kind in self._rows(
            "SELECT b.utid, b.tid, coalesce(b.pid, b.tid), b.ts_ns, b.ts_ns + b.duration_ns, b.due, b.kind FROM blame_part AS b"
            " WHERE b.tid IS NOT NULL ORDER BY b.ts_ns, b.utid"
        ):
            track = _WAIT_TRACK + utid
            if utid not in threads:
                threads.add(utid)
                yield from self._thread(utid, pid, tid)
                yield self._track(pb.number(1, track) + pb.text(2, "waits for") + pb.number(5, _SYSCALL_TRACK + utid))
            event = pb.number(9, _BEGIN) + pb.number(11, track) + pb.text(22, f"wait,{kind}") + pb.text(23, due)
            yield self._event(ts, event)
            yield self._event(end, pb.number(9, _END) + pb.number(11, track))

    def _thread(self, utid: int, pid: int, tid: int) -> Iterator[bytes]:
        """Yield the track of a thread, once."""
        if utid not in self._threads:
            self._threads.add(utid)
            thread = pb.number(1, pid) + pb.number(2, tid)
            yield self._track(pb.number(1, _SYSCALL_TRACK + utid) + pb.message(4, thread))

    def _counters(self) -> Iterator[bytes]:
        tracks: dict[str, int] = {}
        queries = (
            # How busy each CPU was, and how the kernel's counters and the hardware's went, interval by interval.
            "SELECT 'CPU ' || cpu || ' busy [ratio]', ts_ns, busy_ratio::DOUBLE FROM cpu_utilization",
            "SELECT event || coalesce(' CPU ' || cpu, ' ' || aggregate, '') || coalesce(' ' || cgroup, '')"
            " || ' [' || coalesce(nullif(unit, ''), 'count') || ' per interval]', ts_ns, count::DOUBLE"
            " FROM pmc_event",
        )
        for sql in queries:
            for name, ts, value in self._rows(f"{sql} ORDER BY ALL"):
                if value is None or ts is None:
                    continue
                track = tracks.get(name)
                if track is None:
                    track = tracks[name] = _COUNTER_TRACK + len(tracks)
                    yield self._track(pb.number(1, track) + pb.text(2, name) + pb.message(8, b""))
                yield self._event(ts, pb.number(9, _COUNTER) + pb.number(11, track) + pb.double(44, value))

    def _track(self, descriptor: bytes) -> bytes:
        return pb.message(_TRACK, descriptor) + pb.number(_SEQUENCE, _MAIN)

    def _event(self, ts_ns: int, event: bytes) -> bytes:
        return (
            pb.number(_TIMESTAMP, max(self._time(ts_ns), 0))
            + pb.message(_TRACK_EVENT, event)
            + pb.number(_SEQUENCE, _MAIN)
        )

    def _samples(self, samples: Samples) -> Iterator[bytes]:
        samples.note_losses(times=False)
        yield from self._interned(samples)
        threadless = timeless = 0
        for sample in samples.all():
            if sample.ts_ns is None:
                timeless += 1
                continue
            thread = samples.threads[sample.thread]
            threadless += thread.tid < 0
            fields = (
                pb.number(2, max(thread.pid, 0)) + pb.number(3, max(thread.tid, 0)) + pb.number(4, sample.stack + 1)
            )
            if sample.cpu is not None:
                fields += pb.number(1, sample.cpu)
            yield (
                pb.number(_TIMESTAMP, self._time(sample.ts_ns))
                + pb.message(_PERF_SAMPLE, fields + pb.number(5, sample.mode))
                + pb.number(_SEQUENCE, _SAMPLES)
                + pb.number(_FLAGS, _NEEDS)
            )

        if timeless:
            self._lost.append(f"{plural(timeless, 'sample')} without a time")
        if threadless:
            self._lost.append(f"the unknown thread of {plural(threadless, 'sample')}: thread 0 stands for it")

    def _interned(self, samples: Samples) -> Iterator[bytes]:
        """Yield names, objects, frames and callchains, which samples refer to by number."""
        dsos = self._connection.execute("SELECT dso_id, path, build_id FROM dso ORDER BY dso_id").fetchall()
        data = []
        for dso_id, path, build_id in dsos:
            key = dso_id + 2
            data.append(pb.message(17, pb.number(1, key) + pb.text(2, path)))
            data.append(pb.message(16, pb.number(1, key) + pb.text(2, build_id or "")))
            data.append(pb.message(19, pb.number(1, key) + pb.number(2, key) + pb.number(7, key)))
        # Frames that no object is known of need one all the same.
        data.append(pb.message(17, pb.number(1, 1) + pb.text(2, "[unknown]")))
        data.append(pb.message(19, pb.number(1, 1) + pb.number(7, 1)))
        names: dict[str, int] = {}
        frames = []
        for key, frame in samples.frames.items():
            name = names.setdefault(frame.name, len(names) + 1)
            mapping = 1 if frame.dso_id is None else frame.dso_id + 2
            frames.append(
                pb.message(
                    6, pb.number(1, key + 1) + pb.number(2, name) + pb.number(3, mapping) + pb.number(4, frame.address)
                )
            )
        data += [pb.message(5, pb.number(1, key) + pb.text(2, name)) for name, key in names.items()]
        data += frames
        flags = _CLEARED | _NEEDS
        timebase = pb.message(1, pb.text(10, samples.event) + pb.number(2, 1))
        defaults = pb.message(_DEFAULTS, pb.message(12, timebase))
        yield (
            pb.message(_INTERNED, b"".join(data)) + defaults + pb.number(_SEQUENCE, _SAMPLES) + pb.number(_FLAGS, flags)
        )
        for number, stack in enumerate(samples.stacks):
            ids = b"".join(pb.number(2, key + 1) for key in reversed(stack))
            yield (
                pb.message(_INTERNED, pb.message(7, pb.number(1, number + 1) + ids))
                + pb.number(_SEQUENCE, _SAMPLES)
                + pb.number(_FLAGS, _NEEDS)
            )

    def _tables(self) -> set[str]:
        """Return the tables that have rows."""
        rows = self._connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        names = [
            name
            for (name,) in rows
            if name in ("sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new", "syscall")
        ]
        return {name for name in names if self._connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()}

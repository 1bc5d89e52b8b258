"""The samples of one event, as the formats take them: thread by thread, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from perfcase.case.query import gate, sql_errors
from perfcase.case.scope import NAMES
from perfcase.catalogue.schema import literal
from perfcase.lazy import duckdb
from perfcase.stacks.fetching import SAMPLES
from perfcase.text import plural

_BATCH_ROWS = 10_000

NO_SAMPLES = "everything except samples (perfetto has calls, waits and counters; csv and parquet have everything)"
"""What files of samples do not have."""


class FrameInfo(NamedTuple):
    """A frame as other formats describe it."""

    name: str
    is_kernel: bool
    is_inlined: bool
    dso_id: int | None
    address: int
    source_file: str | None
    source_line: int | None


Key = tuple[int | None, int | None]
"""A thread under one of its names: utid and name_id; None for samples that no thread is known of."""


class Thread(NamedTuple):
    """A thread that was sampled, under one of its names."""

    tid: int
    pid: int
    name: str
    process: str


class Sample(NamedTuple):
    """One sample. ``stack`` numbers its callchain in ``Samples.stacks``."""

    thread: Key
    ts_ns: int | None
    cpu: int | None
    mode: int
    stack: int
    weight: int


@dataclass
class Samples:
    """The samples of one event. ``progress`` is called with the number of samples written."""

    connection: duckdb.DuckDBPyConnection
    name: str
    event: str
    unit: str
    where: str | None = None
    progress: Callable[[int], None] = lambda _number: None
    lost: list[str] = field(default_factory=list)
    """What of the capture the written file does not have, in words."""

    def __post_init__(self) -> None:
        self._rows = f"SELECT * FROM ({SAMPLES}) WHERE event = {literal(self.event)}"
        if self.where:
            self._rows += f" AND ({self.where}\n)"
        gate(self.connection, self._rows)

    @cached_property
    def frames(self) -> dict[int, FrameInfo]:
        """The frames by their keys."""
        rows = self._all(
            "SELECT f.frame_id, l.label, f.is_kernel, f.is_inlined, f.dso_id, f.address, f.source_file, f.source_line"
            " FROM frame AS f JOIN frame_label AS l USING (frame_id) ORDER BY f.frame_id"
        )
        return {row[0]: FrameInfo(*row[1:]) for row in rows}

    @cached_property
    def stacks(self) -> list[list[int]]:
        """The distinct callchains: keys of frames, leaf first. A sample without a callchain has one of its own frame."""
        return [frames for frames, _ in self._stacks]

    @cached_property
    def _stacks(self) -> list[tuple[list[int], tuple[int | None, int | None]]]:
        rows = self._all(
            "SELECT w.stack_id, w.frame_id, s.frame_ids FROM (SELECT DISTINCT stack_id,"
            f" CASE WHEN stack_id IS NULL THEN frame_id END AS frame_id FROM ({self._rows})) AS w"
            " LEFT JOIN stack AS s USING (stack_id) ORDER BY w.stack_id, w.frame_id"
        )
        return [([frame] if ids is None else ids, (stack, frame)) for stack, frame, ids in rows]

    @cached_property
    def threads(self) -> dict[Key, Thread]:
        """The threads that were sampled, each under every name that it had then."""
        rows = self._all(
            "SELECT s.utid, s.name_id, t.tid, t.pid, s.comm, coalesce(n.process, p.name) FROM"
            f" (SELECT DISTINCT utid, name_id, comm FROM ({self._rows})) AS s LEFT JOIN thread AS t USING (utid)"
            f" LEFT JOIN process AS p USING (upid) LEFT JOIN ({NAMES}) AS n USING (name_id) ORDER BY s.utid NULLS LAST, s.name_id"
        )
        return {
            (utid, name_id): Thread(
                _known(tid),
                _known(tid if pid is None else pid),
                comm or "[unknown]",
                process or comm or "[unknown]",
            )
            for utid, name_id, tid, pid, comm, process in rows
        }

    def by_thread(self) -> Iterator[tuple[Thread, Iterator[Sample]]]:
        """Yield the samples of each thread, in the order of ``threads``."""
        threads = self.threads
        for key, rows in groupby(self.all(), key=lambda sample: sample.thread):
            yield threads[key], rows

    def note_losses(self, *, times: bool) -> None:
        """Note what the file will not hold: other events, samples without an address, and with ``times`` those without time."""
        self.frames, self.stacks, self.threads  # noqa: B018 - a connection holds one result at a time
        others = self._all(
            "SELECT count(DISTINCT event_id), count(*) FROM sample WHERE event_id NOT IN"
            f" (SELECT event_id FROM perf_event WHERE name = {literal(self.event)})"
        )[0]
        if others[1]:
            note = f"{plural(others[1], 'sample')} of other events ({others[0]}) than {self.event}: --event chooses"
            self.lost.append(note)
        bare = self._all(
            "SELECT count(*) FROM sample JOIN perf_event USING (event_id)"
            f" WHERE name = {literal(self.event)} AND frame_id IS NULL AND stack_id IS NULL"
        )[0][0]
        if bare:
            self.lost.append(f"{plural(bare, 'sample')} without an address or a callchain")
        if not self.stacks:
            self.lost.append("samples: none matches --where" if self.where else "samples: none has a callchain")
        if times:
            timeless = self._all(f"SELECT count(*) FROM ({self._rows}) WHERE ts_ns IS NULL")[0][0]
            if timeless:
                self.lost.append(f"the order of {plural(timeless, 'sample')}: the recording has no times")

    def all(self) -> Iterator[Sample]:
        """Yield all samples: thread by thread, in the order of time."""
        numbers = {key: number for number, (_, key) in enumerate(self._stacks)}
        cursor = self._execute(
            "SELECT utid, name_id, ts_ns, cpu, cpu_mode, stack_id, CASE WHEN stack_id IS NULL THEN frame_id END,"
            f" coalesce(period, 1) FROM ({self._rows}) ORDER BY utid NULLS LAST, name_id, ts_ns, sample_id"
        )
        done = 0
        while batch := cursor.fetchmany(_BATCH_ROWS):
            for utid, name_id, ts, cpu, mode, stack, frame, weight in batch:
                yield Sample((utid, name_id), ts, cpu, mode, numbers[stack, frame], weight)
            done += len(batch)
            self.progress(done)

    def _all(self, sql: str) -> list[tuple]:
        return self._execute(sql).fetchall()

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        with sql_errors():
            return self.connection.execute(sql)


def _known(number: int | None) -> int:
    return -1 if number is None else number

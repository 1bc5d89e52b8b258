"""Which part of a capture is meant: ``window=0s..10s``, ``process=java``, ``thread=worker-*``, ``cpu=0-3``, ``cgroup=/web``.

Conditions of different keys must all hold, of those of the same key one. A process is a pid or a name, a thread a tid or a
name, a control group its path with what lies below; names and paths may hold ``*`` and ``?``. What a condition leaves:

- process, thread, cgroup: events, states, system calls, samples and /proc rows of these threads and processes; by a name, the
  states, calls and samples of the time that they had it (a process has its main thread's, see ``NAMES``);
- cpu: what happened there, a state if the thread ran there; rows of /proc by CPU;
- what is counted of the whole host (memory, disks, network, load) is not changed by them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

KEYS = ("window", "process", "thread", "cpu", "cgroup")
CPU_MAX = 1 << 16

NAMES = (
    "SELECT n.name_id, n.utid, n.comm, CASE WHEN t.tid = t.pid THEN n.comm ELSE p.name END AS process"
    " FROM thread_name AS n JOIN thread AS t USING (utid) LEFT JOIN thread_name_span AS s USING (name_id)"
    " ASOF LEFT JOIN process_name AS p ON p.upid = t.upid AND p.since_ts_ns <= coalesce("
    "greatest(s.since_ts_ns, least(s.until_ts_ns, coalesce(t.end_ts_ns, t.last_ts_ns, s.until_ts_ns))), n.ts_ns)"
)
"""The names of all threads, and what the process was called when the thread had the name for the last time.

A main thread's name is its process's: where there are no times, that is all there is to go by.
"""

_SCALES = {"": 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "m": 60 * 10**9, "h": 3600 * 10**9}
_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(s|ms|us|ns|m|h|)")
_CPUS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


@dataclass(frozen=True)
class Part:
    """A stretch of a capture, in ns since its beginning; no end: until its end."""

    start_ns: int
    end_ns: int | None


def parse_part(text: str) -> Part:
    """Parse ``0s..10s``, ``1.5s..``, ``..500ms``; a number without a unit is seconds."""
    start, separator, end = text.partition("..")
    if not separator or not (start or end):
        raise PerfcaseError("usage", f"{text}: not a window", "such as 0s..10s, 90s.. or ..500ms")
    part = Part(_time(start, text) if start else 0, _time(end, text) if end else None)
    if part.end_ns is not None and part.end_ns <= part.start_ns:
        raise PerfcaseError("usage", f"{text}: ends before it begins")
    return part


def _time(text: str, whole: str) -> int:
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise PerfcaseError("usage", f"{whole}: not a window", "such as 0s..10s, 90s.. or ..500ms")
    return round(float(match[1]) * _SCALES[match[2]])


@dataclass(frozen=True)
class Scope:
    """A part of a capture in its own keys. None: all of them."""

    part: Part | None = None
    utids: Sequence[int] | None = None
    upids: Sequence[int] | None = None
    other_name_ids: Sequence[int] | None = None
    """Names that these threads had at other times."""
    cpus: Sequence[int] | None = None
    cgroups: Sequence[str] | None = None


@dataclass
class _Asked:
    """What was written, by key."""

    part: Part | None = None
    names: dict[str, list[str]] = field(default_factory=dict)


def resolve(connect: Callable[[], duckdb.DuckDBPyConnection], conditions: Iterable[str]) -> Scope:
    """Return the part of a capture that the conditions name. It is opened only where names have to be looked up.

    Raises:
        PerfcaseError: a condition is none (usage), or names nothing that is there (not_found).
    """
    asked = _parse(conditions)
    cpus = {cpu for text in asked.names.get("cpu", ()) for cpu in _cpus(text)}
    if not asked.names.keys() - {"cpu"}:
        return Scope(asked.part, cpus=sorted(cpus) or None)
    with connect() as connection:
        return _found_in(connection, asked, sorted(cpus) or None)


def _found_in(connection: duckdb.DuckDBPyConnection, asked: _Asked, cpus: Sequence[int] | None) -> Scope:
    processes = connection.execute("SELECT upid, pid, name FROM process").fetchall()
    threads = connection.execute("SELECT utid, upid, tid, comm FROM thread").fetchall()
    called = connection.execute(NAMES).fetchall()
    pids = {upid: pid for upid, pid, _ in processes}
    groups = connection.execute("SELECT upid, cgroup FROM process_cgroup").fetchall()
    counted = connection.execute("SELECT DISTINCT cgroup::VARCHAR FROM proc_cgroup_stat").fetchall()
    names = {utid: {comm} for utid, _, _, comm in threads}
    for _, utid, comm, _ in called:
        names.setdefault(utid, set()).add(comm)
    leaders = {upid: utid for utid, upid, tid, _ in threads for pid in [pids.get(upid)] if tid == pid}
    upids = {row[0] for row in processes}
    utids = {row[0] for row in threads}
    cgroups = None
    if wanted := asked.names.get("process"):
        upids &= {
            upid
            for upid, pid, name in processes
            if any(_is(text, pid, {name, *names.get(leaders.get(upid, -1), ())}) for text in wanted)
        }
        _found(upids, "process", wanted)
    if wanted := asked.names.get("cgroup"):
        cgroups = sorted({path for (path,) in counted if path is not None and _below(wanted, path)})
        upids &= {upid for upid, path in groups if path is not None and _below(wanted, path)}
        _found(upids or cgroups, "control group", wanted)
    if asked.names.keys() & {"process", "cgroup"}:
        utids &= {utid for utid, upid, _, _ in threads if upid in upids}
    if wanted := asked.names.get("thread"):
        utids &= {utid for utid, _, tid, _ in threads if any(_is(text, tid, names[utid]) for text in wanted)}
        _found(utids, "thread", wanted)
        upids &= {upid for utid, upid, _, _ in threads if utid in utids}
    found = {utid: (upid, tid) for utid, upid, tid, _ in threads if utid in utids}
    others = []
    for name_id, utid, comm, process in called:
        if utid not in found:
            continue
        upid, tid = found[utid]
        is_thread = any(_is(text, tid, {comm}) for text in asked.names.get("thread", ("*",)))
        is_process = any(_is(text, pids.get(upid), {process}) for text in asked.names.get("process", ("*",)))
        if not (is_thread and is_process):
            others.append(name_id)
    return Scope(asked.part, sorted(utids), sorted(upids), sorted(others), cpus, cgroups)


def _parse(conditions: Iterable[str]) -> _Asked:
    asked = _Asked()
    for condition in conditions:
        key, separator, value = condition.partition("=")
        key, value = key.strip(), value.strip()
        if not separator or key not in KEYS or not value:
            raise PerfcaseError("usage", f"{condition}: not KEY=VALUE", f"keys are {', '.join(KEYS)}")
        if key != "window":
            asked.names.setdefault(key, []).append(value)
        elif asked.part:
            raise PerfcaseError("usage", f"{condition}: a second window")
        else:
            asked.part = parse_part(value)
    return asked


def _cpus(text: str) -> range:
    match = _CPUS.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if first > last or last >= CPU_MAX:
        raise PerfcaseError("usage", f"cpu={text}: not a CPU", "such as cpu=2 or cpu=0-3")
    return range(first, last + 1)


def _is(text: str, number: int | None, names: set[str | None]) -> bool:
    if text == "*":
        return True
    if text.isdecimal():
        return number == int(text)
    return any(name is not None and fnmatchcase(name, text) for name in names)


def _below(wanted: Iterable[str], path: str) -> bool:
    return any(fnmatchcase(path, text) or fnmatchcase(path, text.rstrip("/") + "/*") for text in wanted)


def _found(found: object, what: str, wanted: Sequence[str]) -> None:
    if not found:
        view = {"process": "process", "thread": "thread", "control group": "process_cgroup"}[what]
        raise PerfcaseError(
            "not_found", f"there is no {what} {' or '.join(wanted)}", f"perfcase view {view} lists them"
        )

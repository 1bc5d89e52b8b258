"""Whether two sides can be compared: each condition with both values and what a difference means. Nothing is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perfcase import text
from perfcase.diff.compare import Side
from perfcase.lazy import duckdb

DURATION_RATIO = 1.1
"""Durations that are further apart than this are reported as different: rates are divided by time, maxima are not."""
LOST_RATIO = 0.001
"""Lost events below this share of a source do not show in figures of three digits."""


@dataclass(frozen=True)
class Condition:
    """One thing that both sides should have alike."""

    name: str
    a: str
    b: str
    is_same: bool
    means: str
    """What the difference means for the comparison; of what is the same, nothing."""


@dataclass(frozen=True)
class Setting:
    """A fact of the machines that differs."""

    key: str
    a: str | None
    b: str | None


def conditions(a: Side, b: Side) -> list[Condition]:
    """Return all conditions, those that differ and those that do not."""
    old, new = _capture(a), _capture(b)
    found = [
        _same("architecture", old, new, "machine", "system calls, counters and functions of the kernel are not the same ones"),
        _same("kernel", old, new, "kernel_release", "functions, tracepoints and costs of the kernel may have changed with it"),
        _same("CPU model", old, new, "cpu_model", "times and counters of CPUs differ by the model alone; ratios (IPC, hits) are comparable"),
        _same("CPUs", old, new, "cpu_count", "amounts of the whole machine are divided by it where that makes sense; CPU time of a thread is not"),
        _last_level_cache(a, b),
        _same("memory", old, new, "memory_bytes", "what fits in memory on one may not on the other", text.size),
        _same("page size", old, new, "page_size_bytes", "pages have different sizes, so counts of pages and faults are not comparable", text.size),
        _duration(a, b),
        _same("clock", old, new, "clock", "clocks may run at different speeds: durations can differ by that", _unknown_as_text),
        _same("recorder", old, new, "recorder_version", "another version may record other things, in another way", _bare),
        _sampling(a, b),
        _set(
            "tracepoints", a, b, _tracepoints,
            "what only one recorded is missing from the other, and recording it costs time",
        ),
        _set(
            "counters", a, b, "SELECT DISTINCT event FROM pmc_interval WHERE status = 'counted'",
            "figures of the other events cannot be compared; with more events than counters, counts are estimates",
        ),
        _set(
            "sources", a, b, "SELECT DISTINCT name FROM source WHERE status <> 'missing' AND event_count > 0",
            "views made of the others are not compared",
        ),
        _losses(a, b),
        _multiplexing(a, b),
    ]  # fmt: skip
    return [each for each in found if each]


def settings(a: Side, b: Side) -> list[Setting]:
    """Return the facts of the machines that differ: hardware first, then the kernel's settings; names of hosts are no settings."""
    first, second = _settings(a), _settings(b)
    if not first or not second:
        return []
    differ = [
        key for key in {**first, **second} if first.get(key) != second.get(key) and not key.startswith(_NO_SETTINGS)
    ]
    return [Setting(key, first.get(key), second.get(key)) for key in sorted(differ, key=_setting_order)]


_NO_SETTINGS = ("host.name", "cpu.bogomips", "cpu.online", "cpu.possible", "kernel.version", "kernel.machine")
_ORDER = ("cache.l3", "cpu.model", "cpu.count", "cpu.", "cache.", "numa.", "memory.", "swap.", "clocksource", "mitigation.",
          "kernel.", "sysctl.", "block.", "mount.", "module.")  # fmt: skip


def _setting_order(key: str) -> tuple[int, str]:
    return (next((n for n, prefix in enumerate(_ORDER) if key.startswith(prefix)), len(_ORDER)), key)


def _settings(side: Side) -> dict[str, str]:
    rows = side.connection.execute("SELECT key, value, unit FROM machine_config").fetchall()
    return {key: text.size(float(value)) if unit == "bytes" and value.isdigit() else value for key, value, unit in rows}


def _capture(side: Side) -> dict[str, Any]:
    cursor = side.connection.execute("SELECT * FROM capture")
    names = [column[0] for column in cursor.description or ()]
    return dict(zip(names, cursor.fetchone(), strict=True))


def _same(
    name: str,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    column: str,
    means: str,
    shown: Any = str,  # noqa: ANN401
) -> Condition | None:
    a, b = old[column], new[column]
    if a is None and b is None and shown is not _bare:
        return None
    if a is None or b is None:
        means = f"one of them is unknown; if it differs, {means}" if shown is not _bare else means
    texts = [shown(value) if value is not None or shown is _bare else "not known" for value in (a, b)]
    return Condition(name, *texts, is_same=a == b, means=means)


def _bare(value: str | None) -> str:
    return value or "none: a bare recording"


def _unknown_as_text(value: str) -> str:
    return value or "not known"


def _last_level_cache(a: Side, b: Side) -> Condition | None:
    sql = "SELECT value FROM machine_config WHERE regexp_full_match(key, 'cache\\.l[0-9]d?\\.size') ORDER BY key DESC LIMIT 1"
    found = [side.connection.execute(sql).fetchone() for side in (a, b)]
    if not all(row and row[0].isdigit() for row in found):
        return None
    old, new = (float(row[0]) for row in found)
    means = "what fits in one does not in the other: hit ratios and IPC follow"
    return Condition("last-level cache", text.size(old), text.size(new), is_same=old == new, means=means)


def _duration(a: Side, b: Side) -> Condition:
    longer, shorter = max(a.duration_ns, b.duration_ns), max(min(a.duration_ns, b.duration_ns), 1)
    means = "amounts are divided by seconds; the longer one has larger maxima and more rare events"
    texts = [text.duration(side.duration_ns) for side in (a, b)]
    return Condition("duration", *texts, is_same=longer / shorter <= DURATION_RATIO, means=means)


def _sampling(a: Side, b: Side) -> Condition | None:
    sql = (
        "SELECT DISTINCT name, coalesce(sample_freq || ' Hz', 'every ' || sample_period) FROM perf_event"
        " JOIN (SELECT DISTINCT event_id FROM sample) USING (event_id) WHERE type <> 'tracepoint' ORDER BY 1"
    )
    texts = [
        ", ".join(f"{name} {rate or ''}".strip() for name, rate in side.connection.execute(sql).fetchall())
        for side in (a, b)
    ]
    if not any(texts):
        return None
    means = "counts of samples are not comparable; periods are, if the event is the same"
    return Condition("sampling", *(each or "none" for each in texts), is_same=texts[0] == texts[1], means=means)


def _tracepoints(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return tracepoints with records: tables of their own, and those that only samples have."""
    tables = connection.execute(
        "SELECT table_name FROM table_rows JOIN (SELECT DISTINCT table_name AS known FROM recording"
        " WHERE list_has_any([source], ['ftrace', 'perf'])) ON known = table_name WHERE row_count > 0"
    ).fetchall()
    named = connection.execute(
        "SELECT split_part(name, ':', 2) FROM perf_event JOIN (SELECT DISTINCT event_id FROM sample) USING (event_id)"
        " WHERE type = 'tracepoint' AND name LIKE '%:%'"
    ).fetchall()
    return {row[0] for row in tables + named}


def _set(name: str, a: Side, b: Side, source: Any, means: str) -> Condition | None:  # noqa: ANN401
    found = [
        source(side.connection) if callable(source) else {row[0] for row in side.connection.execute(source).fetchall()}
        for side in (a, b)
    ]
    if not any(found):
        return None
    texts = []
    for one, other in (found, reversed(found)):
        only = sorted(one - other)
        more = f", of these only here: {', '.join(only[:6])}{', …' if len(only) > 6 else ''}" if only and other else ""
        texts.append(f"{len(one)}{more}" if one else "none")
    return Condition(name, *texts, is_same=found[0] == found[1], means=means)


def _losses(a: Side, b: Side) -> Condition:
    sql = "SELECT coalesce(sum(lost_count), 0), coalesce(max(lost_count / nullif(lost_count + event_count, 0)), 0) FROM source"
    found = [side.connection.execute(sql).fetchone() for side in (a, b)]
    texts = [
        f"{text.count(lost)}, at most {text.ratio(share)} of a source" if lost else "none" for lost, share in found
    ]
    is_same = all(share <= LOST_RATIO for _, share in found)
    return Condition(
        "lost events", *texts, is_same=is_same, means="amounts of the side that lost more are too small by about that"
    )


def _multiplexing(a: Side, b: Side) -> Condition | None:
    sql = "SELECT min(running_ratio) FROM pmc_interval WHERE running_ratio > 0"
    found = [side.connection.execute(sql).fetchone()[0] for side in (a, b)]
    if all(share is None or share >= 0.999 for share in found):
        return None
    texts = ["no counters" if share is None else f"{text.ratio(share)} of the time at least" for share in found]
    return Condition(
        "counters ran", *texts, is_same=False, means="counts are scaled up from the time that their counter ran"
    )

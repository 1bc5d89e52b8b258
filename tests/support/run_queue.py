"""What the importer finds by following threads and CPUs through time, by definition: SQL over thread_state and its neighbours.

The importer writes the same as columns of ``thread_state`` and as the tables ``cpu_level`` and ``unclaimed_level``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import duckdb

from perfcase.catalogue.schema import load_tables

FOLLOWED = """
SELECT ts_ns, duration_ns, utid, state, cpu, waker_utid, is_open
FROM thread_state
WHERE utid NOT IN (SELECT utid FROM thread WHERE upid IS NULL AND (SELECT count(*) FROM proc_command) > 0)
"""

WAITS = f"""
WITH followed AS ({FOLLOWED}), step AS (
  SELECT *, lead(state) OVER w = 'running' AS is_run_next, lead(cpu) OVER w AS next_cpu,
    coalesce(waker_utid, lag(waker_utid) OVER w) AS woken_by
  FROM followed
  WHERE utid <> 0
  -- By the ends: a run whose beginning is doubtful may seem to begin before the wait that precedes it.
  WINDOW w AS (PARTITION BY utid ORDER BY ts_ns + duration_ns, ts_ns, state = 'running')
)
SELECT ts_ns, duration_ns, utid, state, cpu AS left_cpu, CASE WHEN is_run_next AND NOT is_open THEN next_cpu END AS ran_cpu,
  CASE WHEN state = 'runnable' THEN woken_by END AS woken_by_utid, is_open
FROM step
WHERE state IN ('runnable', 'runnable_preempted')
"""
"""Each wait for a CPU: the thread's next interval is the run that ended it, its last one the sleep before."""

MOVES = """
SELECT m.ts_ns, n.utid, CASE WHEN m.dest_cpu >= 0 THEN m.dest_cpu::UINTEGER END AS cpu
FROM (SELECT ts_ns, pid, dest_cpu FROM sched_migrate_task JOIN source AS o USING (source_id) WHERE o.is_timeline) AS m
ASOF JOIN (SELECT utid, tid, coalesce(start_ts_ns, -9223372036854775807) AS since_ts_ns FROM thread WHERE utid <> 0) AS n
  ON m.pid = n.tid AND m.ts_ns >= n.since_ts_ns
"""

PLACES = f"""
WITH followed AS ({FOLLOWED}), wait AS ({WAITS}), move AS ({MOVES}), step AS (
  SELECT utid, ts_ns, 2 AS place, NULL AS cpu, duration_ns AS wait_ns, state, ran_cpu, left_cpu FROM wait
  UNION ALL
  SELECT utid, ts_ns, 1, cpu, NULL, NULL, NULL, NULL FROM move
  UNION ALL
  SELECT utid, ts_ns + duration_ns, 0, cpu, NULL, NULL, NULL, NULL FROM followed WHERE state = 'running' AND utid <> 0
), placed AS (
  SELECT utid, ts_ns, place,
    last_value(cpu IGNORE NULLS) OVER w AS queue_cpu,
    last_value(CASE WHEN place = 2 THEN ts_ns + wait_ns END IGNORE NULLS) OVER w AS end_ns,
    last_value(state IGNORE NULLS) OVER w AS state,
    last_value(CASE WHEN place = 2 THEN {{got: ran_cpu, gone: left_cpu}} END IGNORE NULLS) OVER w AS cpus,
    lead(CASE WHEN place = 1 THEN ts_ns END) OVER (PARTITION BY utid ORDER BY ts_ns, place, wait_ns, cpu) AS next_ns
  FROM step
  WINDOW w AS (PARTITION BY utid ORDER BY ts_ns, place, wait_ns, cpu ROWS UNBOUNDED PRECEDING)
)
"""

STRETCHES = f"""
{PLACES}
SELECT ts_ns, CASE WHEN is_last THEN end_ns ELSE next_ns END - ts_ns AS duration_ns, utid,
  CASE
    WHEN NOT EXISTS (FROM move) THEN coalesce(cpus.got, cpus.gone)
    WHEN is_last AND queue_cpu <> cpus.got THEN NULL
    ELSE coalesce(queue_cpu, cpus.got)
  END AS cpu,
  state, is_last
FROM (SELECT *, next_ns IS NULL OR next_ns >= end_ns AS is_last FROM placed)
WHERE place = 2 OR (place = 1 AND ts_ns < end_ns)
"""
"""Each wait, cut where the thread was moved: all steps of a thread in the order of time, each with what was last known."""

BURSTS = """
WITH known AS (
  SELECT utid, ts_ns, duration_ns, state, waker_utid, is_open, ts_ns + duration_ns AS end_ns, max(ts_ns + duration_ns) FILTER (duration_ns > 0) OVER before AS before_ns
  FROM thread_state
  WHERE utid <> 0
  WINDOW before AS (
    PARTITION BY utid ORDER BY ts_ns + duration_ns, ts_ns, state ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), counted AS (
  SELECT *, state = 'running' AND NOT coalesce(is_open, false) AND end_ns > greatest(ts_ns, coalesce(before_ns, ts_ns)) AS is_burst
  FROM known
), numbered AS (
  SELECT *, count(*) FILTER (is_burst) OVER (PARTITION BY utid ORDER BY end_ns, ts_ns, state) - is_burst::INTEGER AS burst
  FROM counted
), run AS (
  SELECT utid, end_ns, burst + 1 AS count FROM numbered WHERE is_burst
)
SELECT n.utid, n.ts_ns, n.duration_ns, n.state, nullif(n.ts_ns - n.before_ns, 0) AS gap_ns, n.burst,
  CASE WHEN is_followed THEN coalesce(b.count, 0) END AS waker_burst,
  CASE WHEN is_followed THEN greatest(e.count, b.count, 0) + 1 - coalesce(b.count, 0) END AS waker_burst_count
FROM (
  SELECT *, greatest(ts_ns, coalesce(before_ns, ts_ns)) AS from_ns,
    state NOT IN ('running', 'runnable', 'runnable_preempted', 'dead') AND waker_utid <> 0 AND waker_utid <> utid AS is_followed
  FROM numbered
) AS n
ASOF LEFT JOIN run AS b ON b.utid = n.waker_utid AND n.from_ns >= b.end_ns
ASOF LEFT JOIN run AS e ON e.utid = n.waker_utid AND n.end_ns > e.end_ns
"""
"""The burst of each interval, and of its waker: by counting the runs that ended before."""

QUEUE_CPUS = f"{PLACES} SELECT utid, ts_ns, queue_cpu FROM placed WHERE place = 2"


DERIVED = [table.name for table in load_tables().values() if table.derived]
"""Tables that the importer works out from others: a table comes after those that it is made of."""


def derived(table: str) -> str:
    """The rows of a derived table, as a part of a capture makes them."""
    sql = load_tables()[table].derived
    assert sql
    return sql


STATES = f"""
SELECT s.* REPLACE (w.woken_by_utid AS woken_by_utid, q.queue_cpu AS queue_cpu, w.ran_cpu AS ran_cpu, b.gap_ns AS gap_ns,
  b.burst AS burst, b.waker_burst AS waker_burst, b.waker_burst_count AS waker_burst_count)
FROM thread_state AS s
LEFT JOIN (
  SELECT utid, ts_ns, duration_ns, state, any_value(woken_by_utid) AS woken_by_utid, any_value(ran_cpu) AS ran_cpu
  FROM ({WAITS})
  GROUP BY ALL
) AS w USING (utid, ts_ns, duration_ns, state)
LEFT JOIN (SELECT utid, ts_ns, any_value(queue_cpu) AS queue_cpu FROM ({QUEUE_CPUS}) GROUP BY ALL) AS q
  ON q.utid = s.utid AND q.ts_ns = s.ts_ns AND w.state IS NOT NULL
LEFT JOIN (SELECT DISTINCT ON (utid, ts_ns, duration_ns, state) * FROM ({BURSTS})) AS b
  ON b.utid = s.utid AND b.ts_ns = s.ts_ns AND b.duration_ns = s.duration_ns AND b.state = s.state
"""
"""thread_state with the columns that the importer works out from others."""


def derive(connection: duckdb.DuckDBPyConnection, given: Mapping[str, Collection[str]]) -> list[str]:
    """Fills what the importer would make of the given rows of thread_state, unless it is given, too. The tables that changed.

    ``given``: the columns of each table that has rows.
    """
    if "thread_state" not in given:
        return []
    selects = {} if "ran_cpu" in given["thread_state"] else {"thread_state": STATES}
    selects |= {table: derived(table) for table in DERIVED if table not in given}
    for table, select in selects.items():
        connection.execute(f"CREATE TEMP TABLE made AS {select}")
        connection.execute(f"DELETE FROM {table}")
        connection.execute(f"INSERT INTO {table} BY NAME FROM made")
        connection.execute("DROP TABLE made")
    return [*selects]


HAS_WAKER = "n.utid <> 0 AND (n.waker_utid IS NULL OR n.waker_utid IN (SELECT utid FROM thread_state))"
"""The importer also counts the bursts of wakers that a recording of some threads leaves out."""

PAIRS = {
    "waits": (
        "SELECT ts_ns, duration_ns, utid, state, cpu AS left_cpu, ran_cpu, woken_by_utid, is_open FROM followed_state"
        " WHERE state IN ('runnable', 'runnable_preempted') AND utid <> 0",
        WAITS,
    ),
    "queue_cpu": (
        "SELECT utid, ts_ns, queue_cpu FROM followed_state WHERE state IN ('runnable', 'runnable_preempted') AND utid <> 0",
        QUEUE_CPUS,
    ),
    "bursts": (
        f"SELECT utid, ts_ns, duration_ns, state, gap_ns, burst, waker_burst, waker_burst_count FROM thread_state AS n WHERE {HAS_WAKER}",
        f"{BURSTS} WHERE {HAS_WAKER}",
    ),
    "run_queue_stretch": ("SELECT ts_ns, duration_ns, utid, cpu, state, is_last FROM run_queue_stretch", STRETCHES),
    "cpu_level": (
        "SELECT ts_ns, duration_ns, cpu, waiting_count, is_running, is_idle FROM cpu_level",
        derived("cpu_level"),
    ),
    "unclaimed_level": ("SELECT ts_ns, duration_ns, cpu_count FROM unclaimed_level", derived("unclaimed_level")),
}
"""What the importer and the views give, and the definition, by what is compared."""


def difference(pair: str) -> str:
    """A query for the rows that only one of the two gives."""
    ours, theirs = PAIRS[pair]
    return f"""
        WITH ours AS MATERIALIZED ({ours}), theirs AS MATERIALIZED ({theirs})
        SELECT * FROM (SELECT 'only ours', * FROM (FROM ours EXCEPT ALL FROM theirs)
          UNION ALL SELECT 'only the definition', * FROM (FROM theirs EXCEPT ALL FROM ours))
        LIMIT 20
    """

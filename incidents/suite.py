"""Incidents: known faults in real programs, recorded and judged. ``make incidents`` plays all and writes docs/diagnosis.md.

Each file of ``faults/`` is played twice, healthy and with its fault, and recorded with the default options. Then the suite looks
where the findings, blame and the comparison of both name the cause: the file says by which words. What is said of the healthy ones, and
of the workloads in ``healthy/``, that is not true of them, is a false alarm.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).resolve().parent))  # also programs.py, for the files of faults/ and healthy/
import guest
import playing

PERFCASE = playing.PROJECT / ".venv" / "bin" / "perfcase"


@dataclass
class Play:
    """What one fault or healthy workload is, and what was said of its recordings."""

    name: str
    module: ModuleType
    findings: dict[str, list[str]] = field(default_factory=dict)
    blame: list[str] = field(default_factory=list)
    diff: list[str] = field(default_factory=list)
    felt: dict[str, dict[str, float]] = field(default_factory=dict)
    trouble: str = ""
    true_also: str = ""

    def words(self, name: str) -> str:
        """Return an attribute of the module: a regular expression, or nothing."""
        return getattr(self.module, name, "")


def load(path: Path) -> Play:
    """Load a file of faults/ or healthy/."""
    return Play(path.stem, playing.load(path))


def answer(*words: str | Path) -> str:
    """What perfcase prints."""
    done = subprocess.run([PERFCASE, *words], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"perfcase {words[0]}: {done.stderr[-600:]}")
    return done.stdout.replace(str(playing.ROOT), "")  # as the scene's own programs see their files


def findings(capture: Path) -> list[str]:
    """The findings of a capture in their order, a line each."""
    rows = json.loads(answer("findings", capture, "--format", "json"))
    return [f"{row['severity']} {row['finding']} | {row['title']} | {row['subject']}: {row['message']}" for row in rows]


def blame(capture: Path) -> list[str]:
    """The causes of waits in their order, a line each."""
    rows = json.loads(answer("view", "blame_by_comm", capture, "--format", "json", "-n", "50"))
    return [" ".join(str(value) for value in row.values() if value is not None) for row in rows]


def compared(healthy: Path, bad: Path) -> list[str]:
    """What a comparison begins with: the findings that are new or changed, as ``findings`` has them, then its sentences about waits."""
    told = json.loads(answer("diff", healthy, bad, "--format", "json"))
    changed = [each for each in told["findings"] if each["state"] in ("new in B", "changed")]
    lines = [
        f"{each['b']['severity']} {each['finding']} | {each['title']} | {each['b']['subject']}: {each['b']['message']}"
        for each in changed
    ]
    return lines + told["in_short"]


def rank(lines: list[str], words: str) -> int | None:
    """Return at which place, from 1, a line names the cause."""
    return next((place for place, line in enumerate(lines, 1) if words and re.search(words, line)), None)


def false_alarms(play: Play, lines: list[str]) -> list[str]:
    """Return what is said of a healthy recording and not true of it: notes do not count, nor what TRUE_ALSO matches."""
    true = "|".join(filter(None, (play.words("TRUE_ALSO"), play.true_also)))
    return [line for line in lines if not line.startswith("note ") and not (true and re.search(true, line))]


def is_felt(healthy: dict[str, float], bad: dict[str, float]) -> bool:
    """Return whether clients feel a fault by their own clock: half as long again on average, or five more failures in a hundred."""
    if not healthy.get("questions") or not bad.get("questions"):
        return False
    failed = bad["failed"] / bad["questions"] - healthy["failed"] / healthy["questions"]
    return bad["mean_ms"] >= 1.5 * healthy["mean_ms"] or failed >= 0.05


def judge(play: Play, folder: Path) -> None:
    """Ask everything about the recordings of a fault, or of a healthy workload."""
    for kind in ("healthy", "bad"):
        if (folder / f"{kind}.perfcase").exists():
            play.findings[kind] = findings(folder / f"{kind}.perfcase")
        if (told := folder / f"{kind}.felt.json").exists():
            play.felt[kind] = json.loads(told.read_text())
    if getattr(play.module, "FELT", False) and not is_felt(play.felt.get("healthy", {}), play.felt.get("bad", {})):
        play.trouble = f"its clients felt nothing of it: {play.felt}"
    if "bad" in play.findings:
        play.blame = blame(folder / "bad.perfcase")
        play.diff = compared(folder / "healthy.perfcase", folder / "bad.perfcase")


def said(place: int | None) -> str:
    """A place for the table."""
    return "–" if place is None else str(place)


def row(play: Play) -> str:
    """A fault's row of the table."""
    named = rank(play.findings["bad"], play.words("NAMED"))
    blamed = rank(play.blame, play.words("BLAMED"))
    moved = rank(play.diff, "|".join(filter(None, (play.words("MOVED"), play.words("NAMED")))))
    first = (play.findings["bad"] or ["nothing"])[0].replace("|", "·")[:150]
    return f"| {play.name} | {said(named)} | {said(blamed)} | {said(moved)} | {first} |"


def name_of(line: str) -> str:
    """The scene that a row is of."""
    return line.split(" | ")[0].removeprefix("| ")


def scoreboard(plays: list[Play], before: str = "", workloads: int | None = None) -> str:
    """docs/diagnosis.md: what was named, at which rank, and every false alarm. Rows of an older board stay where their scene was not played again.

    ``workloads`` is the number of healthy ones that the board has, which have no row if nothing false is said of them.
    """
    played = {play.name for play in plays if play.findings}
    older, _, older_alarms = before.partition("| healthy recording |")
    stay = [
        [line for line in text.splitlines()[skip:] if line.startswith("| ") and name_of(line) not in {*played, "fault"}]
        for text, skip in ((older, 0), (older_alarms, 1))
    ]
    faults = [play for play in plays if play.words("NAMED") and "bad" in play.findings]
    rows = sorted([*stay[0], *map(row, faults)], key=name_of)
    ranks = [[int(place) if place.isdigit() else None for place in line.split(" | ")[1:4]] for line in rows]
    healthy = [play for play in plays if "healthy" in play.findings]
    alarm_rows = [
        f"| {play.name} | {line.replace('|', '·')[:200]} |"
        for play in healthy
        for line in false_alarms(play, play.findings["healthy"])
    ]
    alarm_rows = sorted([*stay[1], *alarm_rows], key=name_of)
    count, healthy_count = max(1, len(rows)), len(healthy) if workloads is None else len(rows) + workloads
    head = [
        f"- {len(rows)} faults: named first by the findings {sum(r[0] == 1 for r in ranks)} ({sum(r[0] == 1 for r in ranks) / count:.0%}), "
        f"at any rank {sum(r[0] is not None for r in ranks)}; by the first three lines of blame {sum((r[1] or 9) <= 3 for r in ranks)}; by the "
        f"first three of diff {sum((r[2] or 9) <= 3 for r in ranks)}.",
        f"- {healthy_count} healthy recordings: {len(set(map(name_of, alarm_rows)))} with a false finding, "
        f"{sum(' | critical' in line for line in alarm_rows)} critical.",
        "",
        "| fault | findings | blame | diff | what the findings begin with |",
        "|---|---|---|---|---|",
    ]
    failed = [f"- {play.name}: not played: {play.trouble}" for play in plays if play.trouble]
    alarms = ["", "| healthy recording | said and not true |", "|---|---|", *alarm_rows]
    return "\n".join(head + rows + alarms + (["", *failed] if failed else [])) + "\n"


def write(doc: Path, mark: str, board: str) -> None:
    """Write a scoreboard between its markers of a page."""
    text = doc.read_text()
    before, after = text.split(f"<!-- {mark} -->")[0], text.split(f"<!-- end of {mark} -->")[1]
    doc.write_text(f"{before}<!-- {mark} -->\n{board}<!-- end of {mark} -->{after}")


def read(doc: Path, mark: str) -> str:
    """Read the scoreboard between the markers of a page."""
    return doc.read_text().split(f"<!-- {mark} -->\n")[1].split(f"<!-- end of {mark} -->")[0]


def main() -> int:
    """Play, record, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="which faults and healthy workloads; all if none is named")
    parser.add_argument(
        "--guest",
        action="store_true",
        help="whole hosts: play in a guest, see guest.py, which lists what is played there if none is named",
    )
    parser.add_argument("--judge-only", action="store_true", help="judge the recordings that are there; play nothing")
    parser.add_argument(
        "--doc", type=Path, help="write the scoreboard between the markers of this page; with names, only their rows"
    )
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("incidents: run it as root: it makes namespaces and control groups, and records")
    paths = playing.paths(options.names or (list(guest.NAMES) if options.guest else []))
    captures = guest.CAPTURES if options.guest else playing.BUILD / "captures"
    if options.guest and not options.judge_only:
        guest.run(paths)
    plays = []
    for path in paths:
        play, folder = load(path), captures / path.stem
        play.true_also = guest.TRUE_ALSO if options.guest else ""
        began = time.monotonic()
        try:
            if not options.guest and not options.judge_only:
                for kind in playing.kinds(path):
                    playing.record(path, kind, folder / f"{kind}.perfcase")
            judge(play, folder)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            play.trouble = str(error).strip()[-300:]
        plays.append(play)
        named = said(rank(play.findings.get("bad", []), play.words("NAMED")))
        alarms = false_alarms(play, play.findings.get("healthy", []))
        waited = " → ".join(f"{each['mean_ms']:.1f} ms" for each in play.felt.values() if each.get("questions")) or "–"
        print(
            f"{play.name}: findings {named}, false alarms {len(alarms)}, {time.monotonic() - began:.0f} s, its clients waited {waited} {play.trouble}",
            flush=True,
        )
    board = scoreboard(plays)
    print("\n" + board)
    if options.doc:
        mark = "guest's board" if options.guest else "board"
        if options.names:
            names = playing.paths(list(guest.NAMES) if options.guest else [])
            workloads = sum(path.parent.name == "healthy" for path in names)
            board = scoreboard(plays, read(options.doc, mark), workloads)
        write(options.doc, mark, board)
    return 1 if any(play.trouble for play in plays) else 0


if __name__ == "__main__":
    sys.exit(main())

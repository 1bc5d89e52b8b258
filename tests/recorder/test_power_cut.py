"""--salvage after a power cut, which may leave any file cut, or empty: what is whole is kept, and what is not is named."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.recorder.support import ROOT, SHELLS, Capture, helper, run
from tests.support.scale import scaled

CAPTURE = ROOT / "tests" / "data" / "captures" / "idle.perfcase"
WITH_SYMBOLS = ROOT / "tests" / "compat" / "v1.1" / "command.perfcase"
SNAPSHOTS = ("proc/snapshots", "process/snapshots")
# Where an end in the middle of a structure can be seen, and the source that each belongs to.
RECORDS = {
    "perf/perf.data": "perf",
    "ftrace/raw/cpu1": "ftrace",
    "pmc/perf-stat.csv": "pmc",
    **{name: name.split("/")[0] for name in SNAPSHOTS},
}
LISTS = ("host/kallsyms", "symbols/objects.tsv")
in_both_shells = pytest.mark.parametrize("shell", SHELLS)


def left(capture: Path, folder: Path) -> Path:
    """The folder that a recorder leaves which is killed just before it packs, as the capture has been packed later."""
    with tarfile.open(capture, "r:") as archive:
        archive.extractall(folder, filter="data")
    subprocess.run(["zstd", "-q", "-d", "--rm", *folder.rglob("*.zst")], check=True)
    manifest = json.loads((folder / "manifest.json").read_text())
    parts = [
        f'"{name}":{json.dumps(value)}'
        for name, value in manifest.items()
        if name not in ("members", "overhead", "recorder")
    ]
    parts.append('"recorder":' + json.dumps({**manifest["recorder"], "stopped_by": "unfinished"}))
    # The lines of it that the recorder itself looks for.
    text = "{" + ",\n  ".join(parts) + ',\n  "members":[],\n  "overhead":[\n\n]}\n'
    (folder / ".state").mkdir()
    for place in (folder, folder / ".state"):
        (place / "manifest.json").write_text(text)
    return folder


@dataclass
class Read:
    """What an import has of a salvaged capture: how many events of each source that has any, by its folder; what is wrong with it."""

    events: dict[str, int]
    issues: list[tuple[str, str, str]]

    def of(self, member: str) -> list[tuple[str, str]]:
        """Severity and kind of what is said of a member; pages of ftrace are one source, and a message says the CPU."""
        is_page = member.startswith("ftrace/raw/")
        return [
            (severity, kind)
            for severity, kind, source in self.issues
            if source == member or (is_page and source.startswith("ftrace/raw/"))
        ]


def read(capture: Path, folder: Path) -> Read:
    case = store.open_case(capture, folder / "x.case", force=True)
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        counted = "SELECT coalesce(split_part(member, '/', 1), name), event_count FROM source WHERE name <> 'host'"
        events = {name: count for name, count in connection.execute(counted).fetchall() if count}
        issues = connection.execute("SELECT severity, kind, coalesce(source, '') FROM import_issue").fetchall()
    return Read(events, issues)


def salvaged(shell: str, folder: Path, **changes: str) -> str:
    out = folder.parent / "x.perfcase"
    done = run(shell, "--salvage", folder, "-o", out, **changes)
    assert done.returncode == 0, done.stderr
    assert not folder.exists()
    return done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Read:
    folder = tmp_path_factory.mktemp("whole")
    salvaged("dash", left(CAPTURE, folder / "x.recording"))
    found = read(folder / "x.perfcase", folder)
    assert found.issues == [("warning", "unfinished", "")]
    assert set(found.events) == set(RECORDS.values())
    return found


def cut(path: Path, size: int) -> None:
    os.truncate(path, size)


@in_both_shells
@pytest.mark.parametrize("member", RECORDS)
@pytest.mark.parametrize("number", range(scaled(8)))
def test_a_cut_recording_keeps_what_is_before(
    shell: str, number: int, member: str, whole: Read, tmp_path: Path
) -> None:
    folder = left(CAPTURE, tmp_path / "x.recording")
    size = (folder / member).stat().st_size
    # 0: the disk knew of the file, and of nothing in it.
    end = random.Random(f"{member} {number}").randrange(1, size) if number % 4 < 3 else 0
    cut(folder / member, end)
    salvaged(shell, folder)
    Capture.read(tmp_path / "x.perfcase").check()
    found = read(tmp_path / "x.perfcase", tmp_path)
    assert ("warning", "unfinished", "") in found.issues
    own = RECORDS[member]
    assert {name: count for name, count in found.events.items() if name != own} == {
        name: count for name, count in whole.events.items() if name != own
    }, (member, end)
    assert found.events.get(own, 0) <= whole.events[own]
    if end > size * 3 // 4:
        assert found.events[own] > 0, (member, end)
    said = {kind for _, kind in found.of(member)}
    assert said & {"truncated", "truncated_record", "missing_events", "empty_member"}, (end, found.issues)


@in_both_shells
@pytest.mark.parametrize("member", [*LISTS, "symbols/elf/*"])
def test_a_cut_list_or_object_is_named(shell: str, member: str, tmp_path: Path) -> None:
    folder = left(WITH_SYMBOLS, tmp_path / "x.recording")
    (file, *_) = sorted(folder.glob(member))
    cut(file, file.stat().st_size // 2 + 3)
    name = str(file.relative_to(folder))
    salvaged(shell, folder)
    found = read(tmp_path / "x.perfcase", tmp_path)
    assert ("error", "truncated") in found.of(name), found.issues


@in_both_shells
@pytest.mark.parametrize("number", range(scaled(6)))
def test_a_cut_compressed_member_is_read_as_far_as_it_goes(
    shell: str, number: int, whole: Read, tmp_path: Path
) -> None:
    """The recorder had compressed it, and removed the original. The list of sizes is cut too, or gone."""
    member = list(RECORDS)[number % len(RECORDS)]
    folder = left(CAPTURE, tmp_path / "x.recording")
    file, packed = folder / member, folder / f"{member}.gz"
    sizes = subprocess.run([helper(), "sizes", folder], capture_output=True, check=True).stdout
    raw = file.read_bytes()
    stored = gzip.compress(raw)
    packed.write_bytes(stored[: random.Random(number).randrange(20, len(stored))])
    file.unlink()
    if number % 2:
        (folder / ".state" / "sizes").write_bytes(sizes[: len(sizes) // 2])
    salvaged(shell, folder)
    members = Capture.read(tmp_path / "x.perfcase").manifest["members"]
    (listed,) = (each for each in members if each["path"] == f"{member}.gz")
    # The list knows, or what is left of it tells.
    assert 0 <= listed["size_bytes"] <= len(raw)
    found = read(tmp_path / "x.perfcase", tmp_path)
    assert [severity for severity, _ in found.of(member)].count("error") > 0, found.issues
    own = RECORDS[member]
    others = {name: count for name, count in whole.events.items() if name != own}
    assert {name: count for name, count in found.events.items() if name != own} == others


@in_both_shells
@pytest.mark.parametrize("number", range(scaled(10, 2)))
def test_a_cut_manifest(shell: str, number: int, whole: Read, tmp_path: Path) -> None:
    """The one before it takes its place; without that, everything is read by what it holds. The archive has never been unreadable."""
    folder = left(CAPTURE, tmp_path / "x.recording")
    text = (folder / "manifest.json").read_bytes()
    # Some end in what also ends the whole.
    ends = [text.index(b"]}") + 2, 0, *(random.Random(number).randrange(len(text) - 1) for _ in range(8))]
    cut(folder / "manifest.json", ends[number])
    has_other = number % 3 != 1
    if not has_other:
        cut(folder / ".state" / "manifest.json", 0)
    said = salvaged(shell, folder)
    found = read(tmp_path / "x.perfcase", tmp_path)
    assert f"{folder}/manifest.json is cut" in said
    if has_other:
        assert found == whole
    else:
        assert "what host this was, its clocks and what was not recorded are unknown" in said
        assert found.of("manifest.json") == [("error", "damaged_manifest")]
        assert found.events == whole.events


@in_both_shells
def test_a_manifest_that_was_about_to_take_its_place(shell: str, whole: Read, tmp_path: Path) -> None:
    folder = left(CAPTURE, tmp_path / "x.recording")
    (folder / "manifest.json").rename(folder / "manifest.json.new")
    cut(folder / ".state" / "manifest.json", 0)
    salvaged(shell, folder)
    Capture.read(tmp_path / "x.perfcase").check()
    assert read(tmp_path / "x.perfcase", tmp_path) == whole


def test_a_hole_that_no_frame_fills_is_said(tmp_path: Path) -> None:
    """The file system had the hole, and not yet the compressed bytes, nor the line of the index."""
    folder = left(CAPTURE, tmp_path / "x.recording")
    raw = folder / "ftrace" / "raw" / "cpu1"
    data = raw.read_bytes()
    pages = 16 * 4096
    assert len(data) > 2 * pages
    raw.rename(raw.with_name(".cpu1"))
    (raw.parent / "cpu1.zst").touch()
    (folder / ".state" / "squeezed").write_text("0 0 0 ftrace/raw/cpu1\n")
    subprocess.run(["fallocate", "--punch-hole", "--length", str(pages), raw.with_name(".cpu1")], check=True)
    said = salvaged("dash", folder, PERFCASE_COMPRESSION="zstd")
    assert f"ftrace/raw/cpu1: {pages} bytes at 0 were lost" in said
    with tarfile.open(tmp_path / "x.perfcase", "r:") as archive:
        stored = archive.extractfile("ftrace/raw/cpu1.zst").read()
    assert subprocess.run(["zstd", "-dc"], input=stored, capture_output=True, check=True).stdout == data[pages:]


@pytest.mark.long
@pytest.mark.parametrize("number", range(scaled(40)))
def test_many_files_at_once(number: int, tmp_path: Path) -> None:
    """Any of them is cut, at any place: the capture is there, and an import of it ends and says that something is missing."""
    chance = random.Random(number)
    folder = left(chance.choice((CAPTURE, WITH_SYMBOLS)), tmp_path / "x.recording")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "log")
    for file in chance.sample(files, chance.randint(1, len(files))):
        cut(file, chance.choice((0, chance.randint(0, file.stat().st_size))))
    salvaged(chance.choice(list(SHELLS)), folder)
    found = read(tmp_path / "x.perfcase", tmp_path)
    assert {kind for _, kind, _ in found.issues} & {"unfinished", "damaged_manifest"}


def test_a_salvage_that_cannot_write_is_done_once_more(tmp_path: Path) -> None:
    folder = left(CAPTURE, tmp_path / "x.recording")
    refused = run("dash", "--salvage", folder, "-o", tmp_path / "nowhere" / "x.perfcase")
    assert refused.returncode != 0
    salvaged("dash", folder)

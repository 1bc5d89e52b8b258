"""The generated documentation is that of the schema, and every command is described."""

from __future__ import annotations

import lzma
import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer

from perfcase.catalogue import docs
from perfcase.catalogue.schema import load_tables
from perfcase.catalogue.views import load_views
from perfcase.cli.main import build_app
from tests.support.cli import succeed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WRITTEN = [
    DOCS / "glossary.md",
    DOCS / "alarms.md",
    *sorted(DOCS.glob("manual/*.md")),
    *sorted(DOCS.glob("case-studies/*.md")),
    DOCS / "walks" / "README.md",
]
"""Pages that nothing generates."""
MEASURED = (DOCS / "benchmarks.md", DOCS / "diagnosis.md")
"""make bench writes it."""
GUIDES = [ROOT / "README.md", *WRITTEN]
README_LINES_MAX = 150
COMMANDS_SHOWN_MIN = 58
"""No command leaves the tested pages unseen."""


def test_generated_pages_are_current(tmp_path: Path) -> None:
    docs.main(str(tmp_path))
    made = {path.relative_to(tmp_path): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.md")}
    kept = {
        path.relative_to(DOCS): path.read_text(encoding="utf-8")
        for path in DOCS.rglob("*.md")
        if path not in (*WRITTEN, *MEASURED)
    }
    stale = [str(path) for path in made.keys() | kept.keys() if made.get(path) != kept.get(path)]
    assert sorted(stale) == [], "run make docs"


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in DOCS.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), (page, link)


def test_the_schema_does_not_collide_with_itself() -> None:
    assert sorted(load_tables().keys() & load_views().keys()) == [], "a view and a table of the same name"


def shown(page: Path, command: str) -> list[str]:
    """The lines that a page shows below ``$ perfcase <command>``."""
    (block,) = re.findall(
        rf"^\$ perfcase {re.escape(command)}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [line.rstrip() for line in block.splitlines() if line.strip() not in ("", "…")]


def commands(page: Path) -> list[list[str]]:
    """The words of each ``$ perfcase …`` of a page, without its comment."""
    lines = re.findall(r"^\$ perfcase (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def test_the_manual_shows_what_the_report_prints(tmp_path: Path) -> None:
    shutil.copy(ROOT / "sample-captures" / "x86_64-scheduling" / "x.perfcase", tmp_path / "incident.perfcase")
    printed = {line.rstrip() for line in succeed("report", "incident.perfcase", cwd=tmp_path).splitlines()}
    lines = shown(DOCS / "manual" / "report.md", "report incident.perfcase")
    assert len(lines) > 10
    assert [line for line in lines if line not in printed] == []


def test_the_readme_shows_what_is_found_and_drawn(tmp_path: Path) -> None:
    shutil.copy(ROOT / "sample-captures" / "d-type-checks" / "server.perfcase", tmp_path)
    printed = succeed("findings", "server.perfcase", "--explain", cwd=tmp_path).splitlines()
    lines = shown(ROOT / "README.md", "findings server.perfcase --explain")
    assert len(lines) >= 3
    assert lines == printed[: len(lines)]
    succeed("flamegraph", "server.perfcase", "-o", "flamegraph.svg", cwd=tmp_path)
    assert (tmp_path / "flamegraph.svg").read_text() == (DOCS / "flamegraph.svg").read_text()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES_MAX


def test_the_manual_shows_what_a_diff_prints(tmp_path: Path) -> None:
    for name in ("base.data", "slow.data"):
        packed = ROOT / "tests" / "data" / "diff" / f"{name}.xz"
        (tmp_path / name).write_bytes(lzma.decompress(packed.read_bytes()))
    printed = succeed("diff", "base.data", "slow.data", "--limit", 3, cwd=tmp_path).splitlines()
    lines = [
        line.removesuffix("…") for line in shown(DOCS / "manual" / "diff.md", "diff base.data slow.data --limit 3")
    ]
    assert len(lines) > 10
    assert [line for line in lines if not any(each.startswith(line) for each in printed)] == []


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_guide_names_what_exists(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    assert set(re.findall(r"perfcase view (\w+)", text)) <= load_views().keys()
    for link in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = link.partition("#")
        target = guide.parent / path if path else guide
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, link


def test_every_command_that_a_guide_shows_has_these_options() -> None:
    app = typer.main.get_command(build_app())
    found = [(guide, words) for guide in GUIDES for words in commands(guide)]
    assert len(found) >= COMMANDS_SHOWN_MIN
    for guide, (name, *words) in found:
        command = app.commands.get(name)
        assert command, (guide, name)
        if name == "record":
            # The recorder has its own options, and its own tests of them.
            continue
        known = {option for each in command.params for option in each.opts}
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given <= known, (guide, name, given - known)


def test_the_manual_lists_its_pages() -> None:
    pages = {path.name for path in DOCS.glob("manual/*.md")} - {"README.md"}
    assert set(re.findall(r"\]\((\w+\.md)\)", (DOCS / "manual" / "README.md").read_text())) == pages

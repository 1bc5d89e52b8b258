"""The generated documentation is that of the schema, and every command is described."""

from __future__ import annotations

import lzma
import re
import shutil
from pathlib import Path

from perfcase.catalogue import docs
from perfcase.catalogue.schema import load_tables
from perfcase.catalogue.views import load_views
from perfcase.cli.main import COMMANDS
from tests.support.cli import succeed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WRITTEN = [DOCS / "manual.md", DOCS / "case-studies.md"]
"""Pages that nothing generates."""
GUIDES = [ROOT / "README.md", *WRITTEN]
README_LINES_MAX = 150


def test_generated_pages_are_current(tmp_path: Path) -> None:
    docs.main(str(tmp_path))
    made = {path.relative_to(tmp_path): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.md")}
    kept = {
        path.relative_to(DOCS): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md") if path not in WRITTEN
    }
    stale = [str(path) for path in made.keys() | kept.keys() if made.get(path) != kept.get(path)]
    assert sorted(stale) == [], "run make docs"


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in DOCS.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), (page, link)


def test_the_schema_does_not_collide_with_itself() -> None:
    assert sorted(load_tables().keys() & load_views().keys()) == [], "a view and a table of the same name"


def test_the_readme_shows_what_the_report_prints(tmp_path: Path) -> None:
    shutil.copy(ROOT / "sample-captures" / "x86_64-scheduling" / "x.perfcase", tmp_path / "incident.perfcase")
    printed = {line.rstrip() for line in succeed("report", "incident.perfcase", cwd=tmp_path).splitlines()}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"\$ perfcase report incident\.perfcase\n(.*?)```", readme, re.DOTALL)
    shown = [line for line in block.splitlines() if line.strip() not in ("", "…")]
    assert len(shown) > 10
    assert [line for line in shown if line not in printed] == []


def test_the_picture_is_what_is_drawn(tmp_path: Path) -> None:
    shutil.copy(ROOT / "sample-captures" / "d-type-checks" / "server.perfcase", tmp_path)
    succeed("flamegraph", "server.perfcase", "-o", "drawn.svg", cwd=tmp_path)
    assert (tmp_path / "drawn.svg").read_text() == (DOCS / "flamegraph.svg").read_text()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES_MAX


def test_the_manual_shows_what_a_diff_prints(tmp_path: Path) -> None:
    for name in ("base.data", "slow.data"):
        packed = ROOT / "tests" / "data" / "diff" / f"{name}.xz"
        (tmp_path / name).write_bytes(lzma.decompress(packed.read_bytes()))
    printed = succeed("diff", "base.data", "slow.data", "--limit", 3, cwd=tmp_path).splitlines()
    manual = (DOCS / "manual.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"\$ perfcase diff base\.data slow\.data --limit 3\n(.*?)```", manual, re.DOTALL)
    shown = [line.removesuffix("…") for line in block.splitlines() if line.strip()]
    assert len(shown) > 10
    assert [line for line in shown if not any(each.startswith(line) for each in printed)] == []


def test_the_guides_name_commands_and_views_that_exist() -> None:
    for guide in GUIDES:
        text = guide.read_text(encoding="utf-8")
        lines = "\n".join(re.findall(r"^\$ .*", text, re.MULTILINE))
        assert set(re.findall(r"(?<![.])perfcase ([a-z]+)\b", lines)) <= set(COMMANDS)
        assert set(re.findall(r"perfcase view (\w+)", text)) <= load_views().keys()
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert (guide.parent / link).exists(), (guide, link)
        headings = {line.lower().replace(" ", "-") for line in re.findall(r"^#+ (.*)", text, re.MULTILINE)}
        assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings

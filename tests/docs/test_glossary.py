"""docs/glossary.md has the project's terms: sorted, short, and each in use."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
TERMS = dict(re.findall(r"^- \*\*(.+?)\*\*: (.*)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE))
SENTENCES_MAX = 3


def test_the_terms_are_sorted() -> None:
    assert len(TERMS) == 40
    assert list(TERMS) == sorted(TERMS, key=str.casefold)


def test_a_definition_is_short() -> None:
    assert all(text.endswith(".") for text in TERMS.values())
    long = {term for term, text in TERMS.items() if len(re.findall(r"\.(?= |$)", text)) > SENTENCES_MAX}
    assert long == set()


def test_every_term_is_used() -> None:
    """In the manual, in the texts of the schema, or in the code."""
    places = ["README.md", "docs/manual", "docs/views", "docs/tables", "docs/findings", "schema", "analyzer/python"]
    unused = []
    for term in TERMS:
        words = term.replace(" ", "[ _]")
        found = subprocess.run(["git", "grep", "-qiE", rf"\b{words}(s|es)?\b", "--", *places], cwd=ROOT, check=False)
        if found.returncode:
            unused.append(term)
    assert unused == []

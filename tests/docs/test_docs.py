"""The generated documentation is that of the schema, and every command is described."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfcase.docgen import PAGES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_generated_pages_are_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), f"docs/{name} is stale: run make docs"


def test_the_schema_does_not_collide_with_itself() -> None:
    from perfcase.schema import load_tables
    from perfcase.views import load_views

    assert sorted(load_tables().keys() & load_views().keys()) == [], "a view and a table of the same name"

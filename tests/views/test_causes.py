"""Each cause of the table blame has its words."""

from __future__ import annotations

import re

import pytest

from perfcase.catalogue.causes import due
from perfcase.catalogue.schema import load_tables

(DESCRIPTION,) = (column.description for column in load_tables()["blame"].columns if column.name == "cause")
CAUSES = re.findall(r"(?:\. |^)([a-z_]+): ", DESCRIPTION)


def test_all_causes_are_described() -> None:
    assert len(CAUSES) == 13


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_has_words(cause: str) -> None:
    wait = {"comm": "a", "cause": cause, "on_comm": "b", "on_target": "target", "on_call": "read"}
    words = due(wait)
    assert words != cause
    assert "None" not in words + due(dict.fromkeys(wait) | {"cause": cause})


def test_who_is_somebody_else_is_named() -> None:
    wait = {"comm": "a", "cause": "disk", "on_comm": "b", "on_target": "sda"}
    assert due(wait) == "sda, by b"
    assert due(wait | {"on_comm": "a"}) == "sda"
    assert due(wait | {"cause": "running", "on_call": "fsync"}) == "b, which ran (in fsync)"

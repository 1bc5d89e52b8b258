"""Every rule of schema/findings against rows worked out by hand: see README.md beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfcase.findings import load_rules
from perfcase.views import load_views
from tests.support import viewtest

HERE = Path(__file__).parent
VIEWS = load_views() | {name: rule.view() for name, rule in load_rules().items()}


def all_cases() -> list:
    found = []
    for path in sorted(HERE.glob("*.test")):
        found += [pytest.param(path, case, id=f"{path.stem}: {case.name}") for case in viewtest.parse(path)]
    return found


@pytest.mark.parametrize(("path", "case"), all_cases())
def test_rule(path: Path, case: viewtest.Case) -> None:
    failures = viewtest.check(case, VIEWS)
    if failures:
        pytest.fail(f"{path.name}, case '{case.name}'\n" + "\n".join(failures), pytrace=False)

"""Every view against rows worked out by hand: tests/views/<group>/<view>.test."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfcase.catalogue.views import load_views
from tests.support import viewtest

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*/*.test"))


def all_cases() -> list:
    found = []
    for path in FILES:
        try:
            cases = viewtest.parse(path)
        except viewtest.FormError as error:
            found.append(pytest.param(path, error, id=f"{path.parent.name}/{path.stem}"))
            continue
        for case in cases:
            found.append(pytest.param(path, case, id=f"{path.parent.name}/{path.stem}: {case.name}"))
    return found


@pytest.mark.parametrize(("path", "case"), all_cases())
def test_view(path: Path, case: viewtest.Case | viewtest.FormError) -> None:
    if isinstance(case, viewtest.FormError):
        pytest.fail(str(case), pytrace=False)
    failures = viewtest.check(case)
    if failures:
        pytest.fail(f"{path.parent.name}/{path.name}, case '{case.name}'\n" + "\n".join(failures), pytrace=False)


def test_every_view_has_its_test_beside_it() -> None:
    tested = {f"{path.parent.name}/{path.stem}" for path in FILES}
    views = {f"{view.group}/{view.name}" for view in load_views().values()}
    assert sorted(views - tested) == [], "views without tests/views/<group>/<view>.test"
    assert sorted(tested - views) == [], "tests of views that do not exist"

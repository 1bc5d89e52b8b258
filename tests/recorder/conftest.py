"""The recorder's BPF programs run in every thread of the machine: who records with perf to compare does so without them."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.alone import beside


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    with beside("recorders"):
        return (yield)

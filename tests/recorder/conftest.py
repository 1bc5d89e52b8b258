"""The recorder's BPF programs run in every thread of the machine: who records with perf to compare does so without them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.alone import beside

HERE = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    # pytest asks this of every test, not only of those in this folder.
    with beside("recorders") if item.path.is_relative_to(HERE) else nullcontext():
        return (yield)

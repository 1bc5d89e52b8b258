"""Fixtures that all tests share."""

from __future__ import annotations

import lzma
import shutil
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from perfcase import store

SAMPLES = Path(__file__).parents[1] / "sample-captures"
DATA = Path(__file__).parent / "data" / "captures"
GOLDEN = Path(__file__).parent / "golden"


# A shell that starts us in the background has us ignore SIGINT, and every process that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write the golden files anew: look at the diff")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --bless only what has a golden file runs: to write them anew takes a minute, not a test run."""
    if config.getoption("--bless"):
        others = [item for item in items if "golden" not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)``: the text is that of tests/golden/<name>; with --bless it becomes it."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--bless"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"tests/golden/{name} differs: see make bless"

    return check


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[str], Path]:
    """``recorded("x86_64/sched.data")``: a copy of a recorded capture of tests/data, in a folder of the test's own."""

    def unpack(name: str) -> Path:
        path = tmp_path / Path(name).name
        path.write_bytes(lzma.decompress((DATA / f"{name}.xz").read_bytes()))
        return path

    return unpack


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``sample("d-nagle/tcp")``: the imported folder of a sample capture; one for all tests, which only read it."""
    folder = tmp_path_factory.mktemp("samples")

    @cache
    def imported(name: str) -> Path:
        copy = folder / f"{name.replace('/', '-')}.perfcase"
        shutil.copy(SAMPLES / f"{name}.perfcase", copy)
        return store.open_case(copy).folder

    return imported

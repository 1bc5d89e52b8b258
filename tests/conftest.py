"""Fixtures that all tests share, and which tests may run beside each other."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.recorder.support import SHELLS
from tests.support import imports, servers
from tests.support.scale import SCALE
from tests.support.studies import Studies

HERE = Path(__file__).parent
DATA = HERE / "data" / "captures"
GOLDEN = HERE / "golden"


# A shell that starts us in the background has us ignore SIGINT, nohup SIGHUP, and every process that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The Makefile's is for the workers, not for what they start. For servers see tests/support/servers.py.
if "PYTEST_XDIST_WORKER" in os.environ:
    servers.PRELOAD = os.environ.pop("LD_PRELOAD", "")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write the golden files again: look at the diff")
    parser.addoption("--pictures", action="store_true", help="write docs/walks and its pictures again: look at them")


def pytest_configure(config: pytest.Config) -> None:
    # Thousands of tests leave what lives on: to look through it often takes a fortieth of the time of the run.
    gc.set_threshold(50_000)
    config.addinivalue_line(
        "markers",
        "long(takes): what another test asserts in another way, and its CPU time; only make test-long runs it",
    )


# What goes to one worker, by what its node ids hold (the longest part that fits); everything else goes module by module.
# Recordings do not overlap with others of their kind, nor browsers; one server answers all who only ask; the studies print the
# same comparisons. The groups begin in this order: those that sleep most beside those that compute.
GROUPS = {
    # They wait for time to pass: the two kinds of recordings go on beside each other.
    "recordings of a while": (
        "tests/recorder/test_flight.py",
        "tests/recorder/test_leaving.py",
        "tests/recorder/test_one_file.py",
        "tests/recorder/test_options.py",
        "tests/recorder/test_output.py",
        "tests/recorder/test_packages.py",
        "tests/recorder/test_rotate.py",
        "tests/recorder/test_squeeze.py",
        "tests/recorder/test_stream.py",
        "tests/recorder/test_upload.py",
    ),
    "recordings": (
        "tests/recorder/",
        "[live/",
        "tests/oracles/test_kernel_accounts.py",
        "tests/oracles/test_machine.py",
        "tests/test_benches.py",
    ),
    "recordings of code": (
        "tests/recorder/test_symbols",
        "tests/oracles/test_allocations.py",
        "tests/oracles/test_symbols.py",
        "tests/oracles/test_unwind_live.py",
        "tests/oracles/test_vdso32.py",
    ),
    "server": ("tests/api/test_analysis.py", "tests/api/test_hostile_sql.py", "tests/api/test_openapi.py"),
    "studies": ("tests/cases/", "tests/docs/test_case_studies.py", "tests/diff/test_findings_of_both.py"),
    "browser": ("tests/web/", "tests/browser/"),
    "conditions of flights": ("tests/recorder/test_flight_conditions.py",),
    # They record nothing.
    "salvage and sampler": ("tests/recorder/test_power_cut.py", "tests/recorder/test_large_host.py"),
}
# What takes longest, after the groups: a worker that begins it at the end keeps the others waiting.
LONGEST = ("tests/api/", "tests/docs/", "tests/cli/test_wheel.py", "tests/diff/", "tests/oracles/")


def group(nodeid: str) -> str:
    """The group of a test, by its node id."""
    fitting = [(len(part), name) for name, parts in GROUPS.items() for part in parts if part in nodeid]
    return max(fitting)[1] if fitting else nodeid.partition("::")[0]


def rank(item: pytest.Item) -> int:
    """Where a test stands in the queue: the groups, what takes longest, everything else."""
    first = [*GROUPS, *LONGEST]
    name = group(item.nodeid)
    return next((place for place, start in enumerate(first) if name.startswith(start)), len(first))


def is_in_its_shell(item: pytest.Item) -> bool:
    """Whether a test of the recorder, which is there for each shell, is that of the one shell that make test runs it in."""
    shell = item.callspec.params.get("shell") if hasattr(item, "callspec") else None
    name = item.nodeid.replace(str(shell), "")
    return shell is None or shell == list(SHELLS)[zlib.crc32(name.encode()) % len(SHELLS)]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Chooses what runs, and in which order."""
    wanted = items
    if config.getoption("--bless"):
        # Only what has a golden file: to write them again takes a minute, not a test run.
        wanted = [item for item in wanted if "golden" in getattr(item, "fixturenames", ())]
    elif SCALE < 1:
        wanted = [item for item in wanted if not item.get_closest_marker("long") and is_in_its_shell(item)]
    chosen = set(wanted)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = sorted(wanted, key=rank)


def pytest_collection_finish() -> None:
    # What is there now stays: a collection need not look at it.
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """``-n auto``: two workers more than there are CPUs, for recordings sleep most of the time."""
    return len(os.sched_getaffinity(0)) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Hands out whole groups, in the order of the collection."""

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False
    return Groups(config, log)


class Golden(Protocol):
    """``golden(name, text)``: the text is that of tests/golden/<name>; with --bless it becomes it. A set's lines may stand anyhow."""

    def __call__(self, name: str, text: str, *, is_set: bool = False) -> None: ...


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    def check(name: str, text: str, *, is_set: bool = False) -> None:
        path = GOLDEN / name
        if request.config.getoption("--bless"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        kept = path.read_text(encoding="utf-8")
        if is_set:
            text, kept = ("\n".join(sorted(each.splitlines())) for each in (text, kept))
        assert text == kept, f"tests/golden/{name} differs: see make bless"

    return check


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """As pytest's, which looks through the folders of all tests before it makes one, and makes a link to it. That of a failed test stays."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=tmp_path_factory.getbasetemp()))
    before = request.session.testsfailed
    yield folder
    if request.session.testsfailed == before:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[str], Path]:
    """``recorded("x86_64/sched.data")``: a copy of a recorded capture of tests/data, in a folder of the test's own."""
    return lambda name: imports.unpacked(DATA / f"{name}.xz", tmp_path)


@pytest.fixture(scope="session")
def sample() -> Callable[[str], Path]:
    """``sample("d-nagle/tcp")``: the imported folder of a sample capture; one for all tests, which only read it."""
    return lambda name: imports.imported(imports.SAMPLES / f"{name}.perfcase").folder


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Studies:
    """The samples that the case studies compare, and what the commands print of them."""
    return Studies(tmp_path_factory.mktemp("studies"))

"""One thing made worse in a real recording comes out first; the same again gives next to nothing (tests/data/diff)."""

from __future__ import annotations

import json
import lzma
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import succeed

DATA = Path(__file__).parents[1] / "data" / "diff"
Compare = Callable[[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def compare(tmp_path_factory: pytest.TempPathFactory) -> Compare:
    folder = tmp_path_factory.mktemp("injected")

    def unpacked(name: str) -> Path:
        path = folder / name
        if path.exists():
            return path
        if name.endswith(".data"):
            path.write_bytes(lzma.decompress((DATA / f"{name}.xz").read_bytes()))
        else:
            with tarfile.open(DATA / f"{name}.tar.xz") as archive:
                archive.extractall(folder, filter="data")
        return path

    @cache
    def run(a: str, b: str) -> dict[str, Any]:
        return json.loads(succeed("diff", unpacked(a), unpacked(b), "--format", "json", "--limit", 0))

    return run


def first(told: dict[str, Any]) -> dict[str, Any]:
    return told["differences"][0]


def key(line: dict[str, Any]) -> dict[str, str | None]:
    return dict(zip(line["key_names"], line["key_values"], strict=True))


def test_a_slower_system_call(compare: Compare) -> None:
    line = first(compare("base.data", "slow.data"))
    assert key(line)["comm"] == "inject"
    assert key(line)["name"] == "pwrite64"
    assert line["ratio"] > 100
    assert line["sigmas"] > 3


def test_an_extra_lock(compare: Compare) -> None:
    line = first(compare("base.data", "lock.data"))
    assert (line["view"], line["state"], line["a"]) == ("lock_wait", "appeared", None)
    assert key(line)["process"] == "inject"
    assert line["b"] > 100


def test_twice_the_threads(compare: Compare) -> None:
    line = first(compare("threads-4", "threads-8"))
    assert (line["measure"], key(line)["comm"]) == ("thread_count", "inject")
    # Most of them asleep at a time, and a main thread.
    assert 4 <= line["a"] <= 5
    assert 8 <= line["b"] <= 9


def test_a_smaller_cache(compare: Compare) -> None:
    told = compare("cached.data", "dropped.data")
    assert first(told)["view"] == "page_cache"
    (line,) = [each for each in told["differences"] if each["measure"] == "hit_ratio"]
    assert line["rank"] <= 3
    assert line["a"] > 0.9
    assert line["b"] < 0.05


def test_the_same_again_is_far_below_any_of_them(compare: Compare) -> None:
    again = compare("base.data", "again.data")
    worst = max((each["score"] for each in again["differences"]), default=0)
    for injected in ("slow.data", "lock.data"):
        assert first(compare("base.data", injected))["score"] > 3 * worst
    assert again["noise_count"] > 10 * len(again["differences"])

"""Captures of many hosts arrive while people read. One day the disks of some hosts get slow: history says which figure moved, where and when."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from perfcase.fleet.bands import VALUES_MIN
from tests.api.conftest import SAMPLES, Running, start, upload, wait_ready
from tests.support import orders_host
from tests.support.scale import scaled

HOSTS, SLOW_HOSTS, READERS, SENDERS = scaled(200, VALUES_MIN), scaled(30, 3), scaled(20, 3), scaled(8, 2)
DAYS, SLOW_DAY = 3, 1
"""Hosts send one capture a day; the slow ones are slow from SLOW_DAY on."""
ROUTES = (
    "views/thread_time?order=utid", "findings", "info", "flamegraph?off_cpu=true", "views/syscall_summary?order=utid&format=csv", "",
)  # fmt: skip
FIGURE = {"view": "syscall_summary", "measure": "duration_avg_ns", "where": "comm = 'orders' AND name = 'fdatasync'"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of its own."""
    store = tmp_path_factory.mktemp("fleet") / "store"
    running = start(store, "", "--requests-per-minute", "1000000", "--job-seconds", "300")
    yield running
    running.stop()


def recorded(folder: Path, slow: set[str]) -> list[Path]:
    """Each host's captures, in an order of chance."""
    folder.mkdir()
    made = [
        orders_host.write(folder / f"{host}-{day}.perfcase", host, day, is_slow=host in slow and day >= SLOW_DAY)
        for host in names()
        for day in range(DAYS)
    ]
    random.Random(7).shuffle(made)
    return made


def names() -> list[str]:
    return [f"web-{number:03}" for number in range(HOSTS)]


@pytest.mark.long  # Hundreds of imports; test_load and test_compared are of the quick tier
def test_a_regression_is_found(fleet: Running, tmp_path: Path) -> None:
    slow = set(random.Random(3).sample(names(), SLOW_HOSTS))
    files = recorded(tmp_path / "sent", slow)
    done = threading.Event()

    with fleet.client() as admin:
        read = upload(admin, SAMPLES / "d-nagle" / "tcp.perfcase")
        alone = {route: answer(admin, read, route) for route in ROUTES}
        assert {status for status, _ in alone.values()} == {200}

        def reader(seed: int) -> list[tuple[str, tuple[int, bytes]]]:
            choice, got = random.Random(seed), []
            with fleet.client() as client:
                while not done.is_set():
                    route = choice.choice(ROUTES)
                    got.append((route, answer(client, read, route)))
                    done.wait(choice.uniform(0.5, 3))
            return got

        def sender(share: list[Path]) -> list[tuple[str, str]]:
            with fleet.client() as client:
                return [(sent(client, file), file.name) for file in share]

        with ThreadPoolExecutor(READERS + SENDERS) as pool:
            readers = [pool.submit(reader, seed) for seed in range(READERS)]
            try:
                senders = [pool.submit(sender, files[n::SENDERS]) for n in range(SENDERS)]
                ids = dict(pair for each in senders for pair in each.result())
                # In the order in which they are imported: the time to wait is that of one import, not of all.
                arrived = sorted(ids, key=lambda each: admin.get(f"/v1/captures/{each}").json()["uploaded_ns"])
                states = {wait_ready(admin, capture_id)["state"] for capture_id in arrived}
            finally:
                done.set()
            answers = [pair for each in readers for pair in each.result()]
        assert (states, len(ids)) == ({"ready"}, HOSTS * DAYS)
        assert [route for route, got in answers if got != alone[route]] == []
        admin.delete(f"/v1/captures/{read}").raise_for_status()

        figures = rows(admin, bands=True)
        moved = rows(admin, bands=True, **FIGURE)

    # All figures that moved are of the call that did, or of the state in which it waits, and each says which hosts.
    assert {(row["view"], row["measure"]) for row in figures} >= {("syscall_summary", "duration_avg_ns")}
    assert [row["key"] for row in figures if not re.search("name fdatasync|state disk_sleep", row["key"])] == []
    assert {tuple(row["high_hosts"]) for row in figures} == {tuple(sorted(slow))}
    high = [row for row in moved if row["band"] == "high"]
    assert sorted(row["host"] for row in high) == sorted([*slow] * (DAYS - SLOW_DAY))
    first = orders_host.started_ns(SLOW_DAY)
    assert {row["band_since"] for row in high} == {f"{datetime.fromtimestamp(first / 1e9, UTC):%F %T}"}
    assert len(moved) == HOSTS * DAYS


def answer(client: httpx.Client, capture_id: str, route: str) -> tuple[int, bytes]:
    """One question's answer."""
    got = client.get(f"/v1/captures/{capture_id}/{route}".rstrip("/"))
    return got.status_code, got.content


def rows(client: httpx.Client, **question: object) -> list[dict]:
    """The rows of a history."""
    got = client.get("/v1/history", params={"format": "json", "limit": 10_000, **question})
    assert got.status_code == 200, got.text
    return got.json()


def sent(client: httpx.Client, file: Path) -> str:
    """A capture's id. Its import may be waiting still."""
    said = client.post("/v1/captures", params={"name": file.name}, content=file.read_bytes())
    assert said.status_code == 201, said.text
    return said.json()["capture_id"]

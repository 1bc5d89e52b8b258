"""50 readers and 4 uploads at once: every answer is the one that is given alone, every upload is whole and imported."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import SAMPLES, Running, start, upload, wait_ready
from tests.support.scale import scaled

READERS, ASKS, TOKENS = scaled(50, 5), 3, 5
STORED = [SAMPLES / "d-nagle" / name for name in ("tcp.perfcase", "pipe.perfcase")][: scaled(2)]
SENT = [
    SAMPLES / "e-page-cache" / "fits.perfcase", SAMPLES / "e-page-cache" / "larger.perfcase",
    SAMPLES / "a-neighbours" / "alone.perfcase", SAMPLES.parent / "tests" / "compat" / "v1.1" / "command.perfcase",
]  # fmt: skip
PART = 300_000
QUESTIONS = [
    ("views/thread_time?order=utid", None), ("views/thread?order=utid&limit=7&format=csv", None), ("info", None),
    ("views/tcp_stalls?process=order-*&order=ts_ns", None), ("findings", None), ("export?to=folded", None), ("", None),
    ("flamegraph?off_cpu=true", None), ("original", None), ("notes", None),
    ("sql", "SELECT comm, switch_count FROM thread_time ORDER BY ALL"), ("sql", "SELECT count(*) FROM thread_state"),
]  # fmt: skip


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = start(
        tmp_path_factory.mktemp("load") / "store", "", "--requests-per-minute", "1000000", "--job-seconds", "300"
    )
    yield running
    running.stop()


def ask(client: httpx.Client, capture_id: str, number: int) -> tuple[int, bytes]:
    """One question's answer."""
    route, sql = QUESTIONS[number]
    if sql:
        answer = client.post("/v1/sql", json={"sql": sql, "capture_id": capture_id, "format": "csv"})
    else:
        answer = client.get(f"/v1/captures/{capture_id}/{route}".rstrip("/"))
    return answer.status_code, answer.content


def send(client: httpx.Client, file: Path) -> str:
    """An upload in small parts, so that the four are under way at the same time."""
    data = file.read_bytes()
    new = client.post("/v1/uploads", json={"name": file.name, "size_bytes": len(data), "ticket": "SENT"}).json()
    told: dict = {}
    for offset in range(0, len(data), PART):
        place, headers = f"/v1/uploads/{new['upload_id']}", {"Upload-Offset": str(offset)}
        told = client.patch(place, headers=headers, content=data[offset : offset + PART]).json()
    return told["capture_id"]


def test_nothing_is_lost(busy: Running) -> None:
    with busy.client() as admin:
        stored = [upload(admin, file, ticket="STORED") for file in STORED]
        made = [admin.post("/v1/tokens", json={"name": f"reader {n}", "role": "viewer"}).json() for n in range(TOKENS)]
        asked = [(capture_id, number) for capture_id in stored for number in range(len(QUESTIONS))]
        alone = {each: ask(admin, *each) for each in asked}
        assert {status for status, _ in alone.values()} == {200}
        # Made again, and not what is kept of the answers above.
        for kept in (busy.store / "answers").iterdir():
            kept.unlink()
        begin = threading.Barrier(READERS + len(SENT))

        def read(seed: int) -> list[tuple[tuple[str, int], tuple[int, bytes]]]:
            choice = random.Random(seed)
            with busy.client(made[seed % TOKENS]["secret"]) as client:
                begin.wait()
                return [(each, ask(client, *each)) for each in (choice.choice(asked) for _ in range(ASKS))]

        def write(file: Path) -> str:
            with busy.client() as client:
                begin.wait()
                return send(client, file)

        with ThreadPoolExecutor(READERS + len(SENT)) as pool:
            readers = [pool.submit(read, seed) for seed in range(READERS)]
            writers = [pool.submit(write, file) for file in SENT]
            answers = [answer for reader in readers for answer in reader.result()]
            sent = [writer.result() for writer in writers]
        assert len(answers) == READERS * ASKS
        assert [each for each, answer in answers if answer != alone[each]] == []
        for capture_id, file in zip(sent, SENT, strict=True):
            assert wait_ready(admin, capture_id)["state"] == "ready"
            assert admin.get(f"/v1/captures/{capture_id}/original").content == file.read_bytes()
            assert len(ask(admin, capture_id, 1)[1].splitlines()) > 2
        assert list((busy.store / "uploads").iterdir()) == []
        assert admin.get("/v1/captures", params={"ticket": "SENT"}).json()["total"] == len(SENT)

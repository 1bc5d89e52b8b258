"""What a difference is of the whole: all of next to nothing is little, and an average is no larger for what is queued beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfcase.case import store
from perfcase.catalogue.views import load_views
from perfcase.diff.compare import diff_view
from perfcase.diff.sides import opened_sides
from tests.support.fakecase import make_case

SECOND = 10**9
NAMES = ("java", "postgres")


def capture(folder: Path, rtt_ns: tuple[int, int], queued_bytes: int, grown_bytes: int) -> Path:
    """10 s of two processes, each with a connection; the second's grows, and has something queued."""
    at = [{"snapshot": second, "ts_ns": second * SECOND, "source_id": 0} for second in range(11)]
    return make_case(folder, {
        "capture": [{"capture_id": folder.name, "name": "x", "perfcase_version": "x", "duration_ns": 10 * SECOND, "cpu_count": 2}],
        "process": [{"upid": n, "pid": n, "name": name} for n, name in enumerate(NAMES)],
        "proc_process": [
            {**each, "upid": n, "pid": n, "resident_bytes": 2**20 + n * grown_bytes * each["snapshot"] // 10}
            for each in at for n in range(2)
        ],
        "proc_socket": [
            {**each, "upid": n, "pid": n, "fd": 3, "family": "inet", "protocol": "tcp", "state": "ESTAB", "inode": n,
             "rtt_ns": rtt_ns[n], "recv_queue_bytes": n * queued_bytes, "send_queue_bytes": 0}
            for each in at for n in range(2)
        ],
    })  # fmt: skip


def shares(view: str, measure: str, a: Path, b: Path) -> dict[str, float]:
    with opened_sides(store.open_case(a), store.open_case(b), None, None) as sides:
        found = diff_view(load_views()[view], *sides)
    return {each.key[0]: each.share for each in found if each.measure.name == measure}


def test_a_round_trip_is_one_of_two_however_much_is_queued(tmp_path: Path) -> None:
    slow = capture(tmp_path / "slow.case", (1_000_000, 9_000_000), 43, 0)
    fast = capture(tmp_path / "fast.case", (900_000, 60_000), 0, 0)
    assert shares("socket", "rtt_ns", slow, fast) == {"java": 0.5, "postgres": 0.5}


@pytest.mark.parametrize(("grown_bytes", "share"), [(1_000_000, 0.1), (20_000_000, 1.0)])
def test_bytes_are_a_share_of_a_megabyte_a_second_or_more(tmp_path: Path, grown_bytes: int, share: float) -> None:
    flat, grown = (
        capture(tmp_path / f"{name}.case", (1, 1), 0, size) for name, size in (("flat", 0), ("grown", grown_bytes))
    )
    assert shares("memory_growth", "resident_grown_bytes", flat, grown) == {"postgres": pytest.approx(share)}

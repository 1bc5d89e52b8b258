"""Memory that grows all the time is told; what a short-lived process took once is not, however steep that was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perfcase.case import store
from perfcase.diff.rank import Ranking, rank
from perfcase.diff.sides import opened_sides
from tests.support.fakecase import make_case

SAMPLES = Path(__file__).parents[2] / "sample-captures" / "b-false-sharing"
SECOND = 10**9
MIB = 1 << 20


def compared(a: Path, b: Path, views: list[str] | None = None) -> Ranking:
    with opened_sides(store.open_case(a), store.open_case(b), None, None) as sides:
        return rank(*sides, views)


def grown(folder: Path, sizes: dict[str, list[int | None]]) -> Path:
    """A capture of 40 s with a reading of each process a second, which is NULL where it does not live."""
    capture = {
        "capture_id": str(folder),
        "name": "x",
        "perfcase_version": "x",
        "duration_ns": 40 * SECOND,
        "cpu_count": 2,
    }
    return make_case(folder, {
        "capture": [capture],
        "process": [{"upid": upid, "pid": upid, "name": name} for upid, name in enumerate(sizes)],
        "proc_process": [
            {"ts_ns": second * SECOND, "snapshot": second, "source_id": 0, "upid": upid, "pid": upid, "resident_bytes": size}
            for upid, of_process in enumerate(sizes.values()) for second, size in enumerate(of_process) if size is not None
        ],
    })  # fmt: skip


def test_steady_growth_is_beyond_the_noise_and_one_jump_is_not(tmp_path: Path) -> None:
    steady = [10 * MIB + second * MIB for second in range(40)]
    jump = [None] * 20 + [4096, 4096, 90 * MIB] + [None] * 17
    flat = [10 * MIB] * 40
    calm = grown(tmp_path / "calm.case", {"server": flat, "tool": [None] * 20 + [4096] * 3 + [None] * 17})
    leaking = grown(tmp_path / "leaking.case", {"server": steady, "tool": jump})
    ranking = compared(calm, leaking, ["memory_growth"])
    (line,) = ranking.lines
    assert (line.difference.key, line.difference.measure.name) == (("server",), "resident_grown_bytes")
    assert (line.difference.a, line.difference.b) == (0, 39 * MIB)
    assert line.difference.difference == pytest.approx(MIB)
    assert [each.difference.key for each in ranking.noise] == [("tool",)]


def test_growth_of_a_short_life_does_not_lead_the_diff_of_case_b(tmp_path: Path) -> None:
    padded, shared = (Path(shutil.copy(SAMPLES / f"{name}.perfcase", tmp_path)) for name in ("padded", "shared"))
    ranking = compared(padded, shared)
    assert "memory_growth" not in {each.difference.view for each in ranking.lines[:10]}
    assert "counters" in {each.difference.key[0] for each in ranking.noise if each.difference.view == "memory_growth"}

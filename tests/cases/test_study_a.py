"""A, "an unexplained win": a service among neighbours on busy CPUs, and alone."""

from __future__ import annotations

from tests.cases.conftest import QueryRows

ALONE, CROWDED = "a-neighbours/alone.perfcase", "a-neighbours/crowded.perfcase"


def test_findings_name_the_neighbours(rows: QueryRows) -> None:
    crowded = {row["finding"]: row for row in rows("sql", CROWDED, "FROM finding")}
    assert crowded["cpu_saturation"]["severity"] == "critical"
    assert crowded["noisy_neighbour"]["subject"] == "/service"
    assert "/neighbours" in crowded["noisy_neighbour"]["message"]
    assert not {"cpu_saturation", "noisy_neighbour"} & {row["finding"] for row in rows("sql", ALONE, "FROM finding")}


def test_diff_ranks_what_the_publication_argues_with(rows: QueryRows) -> None:
    """More of the CPU used, by others; threads wait for it; they leave it involuntarily, after a shorter time."""
    lines = rows("diff", ALONE, CROWDED)
    place = {}
    for number, line in enumerate(lines):
        place.setdefault(line["view"], number)
    assert {"ready_time", "ready_time_by_cgroup", "run_queue_length"} <= {line["view"] for line in lines[:10]}
    assert {"load_average", "cpu_utilization", "run_queue_latency_by_thread"} <= {line["view"] for line in lines[:25]}


def test_the_service_waits_for_its_own_work_several_times_longer(rows: QueryRows) -> None:
    workers = "SELECT comm, sum(on_cpu_ns) AS ran, sum(run_queue_ns) AS waited FROM thread_time WHERE comm = 'worker' GROUP BY 1"
    (alone,), (crowded,) = (rows("sql", capture, workers) for capture in (ALONE, CROWDED))
    assert float(alone["waited"]) < 0.2 * float(alone["ran"])
    assert float(crowded["waited"]) > float(crowded["ran"])

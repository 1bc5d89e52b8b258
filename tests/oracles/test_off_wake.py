"""off_wake against perf's text: every sleep worked out from `perf script` without perfcase, and its callchains.

No tolerance: perf prints nanoseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import astuple

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.test_samples import named
from tests.oracles.tools import perf_script, sched_text
from tests.oracles.tools.address import Places

Chain = tuple[tuple[int, str], ...] | None

OFF_WAKE = """
WITH chain AS (
    SELECT e.stack_id,
        list(f.address ORDER BY e.position) AS addresses, list(coalesce(d.name, '[unknown]') ORDER BY e.position) AS dsos
    FROM stack_entry AS e JOIN frame AS f USING (frame_id) LEFT JOIN dso AS d USING (dso_id)
    GROUP BY e.stack_id
)
SELECT o.comm, s.addresses, s.dsos, o.waker_comm, w.addresses, w.dsos, o.sleep_count, o.off_cpu_ns, o.sleep_ns, o.off_cpu_max_ns
FROM (
    SELECT comm, stack_id, waker_comm, waker_stack_id, sum(sleep_count)::BIGINT AS sleep_count, sum(off_cpu_ns)::BIGINT AS off_cpu_ns,
        sum(sleep_ns)::BIGINT AS sleep_ns, max(off_cpu_max_ns) AS off_cpu_max_ns
    FROM off_wake
    GROUP BY ALL
) AS o
LEFT JOIN chain AS s ON s.stack_id = o.stack_id
LEFT JOIN chain AS w ON w.stack_id = o.waker_stack_id
"""


def chains(capture: Capture) -> dict[tuple[int, str, int], list[tuple[Chain, str]]]:
    """The callchains of the samples, and the names of their threads, by time, event and CPU."""
    places = Places(perf_script.mappings(capture.text("mmaps")))
    found: dict[tuple[int, str, int], list[tuple[Chain, str]]] = defaultdict(list)
    for sample in perf_script.samples(capture.text("script")):
        chain = tuple(map(astuple, places.frames(sample))) if sample.has_chain else None
        found[sample.time_ns, sample.event, sample.cpu].append((chain, named(sample.comm)))
    return found


@each_with("sched-events")
def test_every_sleep_and_who_ended_it(capture: Capture, case_of) -> None:
    rows = sched_text.events(capture.text("sched-events"))
    known = chains(capture)

    def chain_of(event: sched_text.Event | None) -> Chain:
        if event is None:
            return None
        ((chain, _),) = known[event.time_ns, f"sched:{event.name}", event.cpu]
        return chain

    def name(event: sched_text.Event) -> str:
        ((_, comm),) = known[event.time_ns, f"sched:{event.name}", event.cpu]
        return comm

    theirs: dict[tuple, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for sleep in sched_text.histories(rows):
        if not isinstance(sleep, sched_text.Sleep):
            continue
        wake = sleep.wake
        # A waker that is being reaped has no thread id in the sample.
        waker = name(wake) if wake is not None and wake.tid >= 0 else None
        row = theirs[name(sleep.out), chain_of(sleep.out), waker, chain_of(wake)]
        off_ns = sleep.back_ns - sleep.out.time_ns
        row[0] += 1
        row[1] += off_ns
        # A waker may find the thread on the way off its CPU.
        row[2] += max((wake.time_ns if wake is not None else sleep.back_ns) - sleep.out.time_ns, 0)
        row[3] = max(row[3], off_ns)

    def chain(addresses: list[int] | None, dsos: list[str] | None) -> Chain:
        return None if addresses is None else tuple(zip(addresses, dsos, strict=True))

    ours = Counter(
        (named(comm), chain(addresses, dsos), named(waker), chain(waker_addresses, waker_dsos), *figures)
        for comm, addresses, dsos, waker, waker_addresses, waker_dsos, *figures in case_of(capture).rows(OFF_WAKE)
    )
    assert len(theirs) > 5
    assert_same(ours, Counter((*key, *figures) for key, figures in theirs.items()))

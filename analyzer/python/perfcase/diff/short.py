"""In short: what threads of B wait for that those of A do not, as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfcase.catalogue.causes import due
from perfcase.diff.amounts import value
from perfcase.diff.compare import Difference
from perfcase.diff.rank import Ranked, Ranking

SENTENCES = 3
LEAST_NS_PER_S = 10_000_000
"""A cause is worth a sentence from a hundredth of a thread's time on."""
UNNAMED = ("interrupt", "not_followed", "not_recorded")
"""Causes of waits that name nothing."""


def in_short(ranking: Ranking) -> list[str]:
    """Say what threads wait for that they did not wait for, or wait for no more; the recorder's own left out.

    What A has too comes first: it became slower, and somebody feels that. What only B has is a cause more often.
    """
    others = [each for each in ranking.lines if not each.is_recorder]
    old = {_who(each.difference) for each in (*ranking.lines, *ranking.noise) if each.difference.a}
    said = [(_place(each, old), _sentence(each)) for each in _waits(others)]
    ran = [each for each in _cpu_time(others, "on_cpu_ns") if _is_more(each)]
    said += [(_place(each, old), _cpu_sentence(each, ran)) for each in _cpu_time(others, "ready_ns")]
    said.sort(key=lambda each: each[0])
    return [sentence for _, sentence in said[:SENTENCES]]


def _waits(lines: Sequence[Ranked]) -> list[Difference]:
    return [each.difference for each in lines if each.difference.view == "blame_by_comm" and _is_much(each.difference)]


def _cpu_time(lines: Sequence[Ranked], measure: str) -> list[Difference]:
    found = [each for line in lines for each in (line.difference, *line.beside) if each.view == "ready_time"]
    return [each for each in found if each.measure.name == measure and _is_much(each)]


def _place(each: Difference, old: set[str | None]) -> tuple[bool, ...]:
    """Return the order of the sentences; those alike are in the order of their ranks."""
    # What came to a stop leaves the others with less to do: they wait less for it. What has no known cause says least.
    # Nobody knows whether a thread that only waits for a CPU works for someone.
    is_unnamed = each.view == "ready_time" or _key(each)["cause"] in UNNAMED
    return not _is_more(each), is_unnamed, _who(each) not in old


def _sentence(wait: Difference) -> str:
    key = _key(wait)
    return f"B: {key['comm']} waits {_change(wait)} for {due(key)}"


def _cpu_sentence(ready: Difference, ran: Iterable[Difference]) -> str:
    return f"B: {_who(ready)} waits {_change(ready)} for a CPU{_runner(ready, ran)}"


def _runner(ready: Difference, ran: Iterable[Difference]) -> str:
    """Say which other process ran more, the most, where one waits more."""
    others = [each for each in ran if each.key != ready.key]
    if not others or not _is_more(ready):
        return ""
    most = max(others, key=lambda each: each.difference)
    return f"; {_who(most)} runs {_change(most)}"


def _key(each: Difference) -> dict[str, str | None]:
    return dict(zip(each.keys, each.key, strict=True))


def _who(each: Difference) -> str | None:
    key = _key(each)
    return key.get("process", key.get("comm"))


def _is_much(each: Difference) -> bool:
    return each.per == "s" and abs(each.difference) >= LEAST_NS_PER_S


def _is_more(each: Difference) -> bool:
    return each.difference > 0


def _change(each: Difference) -> str:
    return f"{value(each, abs(each.difference))} {'more' if _is_more(each) else 'less'}"

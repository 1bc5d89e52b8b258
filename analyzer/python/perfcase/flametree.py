"""A flame graph as a tree for a program that draws it itself: plain lists, parents before their callees.

For node n: ``parent[n]`` is its caller (-1 of the root), ``name[n]`` and ``kind[n]`` are places in ``names`` and
``kinds``, ``weight[n]`` is what was counted in it and in what it called, ``self[n]`` in it alone; with a base ``base``
and ``base_self`` are the same of the other capture. What is too small to be seen is left out and counted: ``pruned``. A
weight that is more than ``self`` and the weights of the callees says how much is left out there.

The figures are those of the picture (perfcase.flamegraph): frames of the same name below the same caller are one node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perfcase.flamegraph import KINDS, Stack
from perfcase.text import safe, shorten

RATIO_MIN = 1e-5
"""The share of all below which a node is left out: a tenth of a pixel on a screen of 10,000, so that zooming in by ten shows it."""
NODES_MAX = 100_000
NAME_MAX = 1000


class _Side:
    """The weights of one capture, by node."""

    def __init__(self) -> None:
        self.own: list[float] = [0]
        self.whole: list[float] = []


def tree(stacks: Iterable[Stack], base: Iterable[Stack] | None = None, nodes_max: int = NODES_MAX) -> dict[str, Any]:
    """The tree of stacks (frames root first, weight). Linear in their frames."""
    parent, frames = [-1], [("all", "label")]
    callees: list[dict[str, int]] = [{}]
    sides = [_Side() for _ in range(1 if base is None else 2)]
    for side, given in zip(sides, (stacks, base or ()), strict=False):
        own = side.own
        for path, weight in given:
            if not weight > 0:
                continue
            node = 0
            for frame in path:
                name = frame if isinstance(frame, str) else frame[0]
                below = callees[node]
                found = below.get(name)
                if found is None:
                    found = below[name] = len(parent)
                    parent.append(node)
                    frames.append((name, "user") if isinstance(frame, str) else frame)
                    callees.append({})
                node = found
            own.extend([0] * (len(parent) - len(own)))
            own[node] += weight
    for side in sides:
        side.own.extend([0] * (len(parent) - len(side.own)))
        side.whole = list(side.own)
        for node in range(len(parent) - 1, 0, -1):
            side.whole[parent[node]] += side.whole[node]
    return _listed(parent, frames, sides, nodes_max)


def _listed(parent: list[int], frames: list[Any], sides: list[_Side], nodes_max: int) -> dict[str, Any]:
    """What is large enough, with new numbers."""
    shares = [max((s.whole[n] / s.whole[0] if s.whole[0] else 0) for s in sides) for n in range(len(parent))]
    cut_off = RATIO_MIN
    if sum(share >= cut_off for share in shares) > nodes_max:
        # A node never has more than its caller: what is above a bound is a tree.
        cut_off = sorted(shares, reverse=True)[nodes_max]
        kept = [node for node, share in enumerate(shares) if share > cut_off]
    else:
        kept = [node for node, share in enumerate(shares) if share >= cut_off or node == 0]
    place = {node: number for number, node in enumerate(kept)}
    names: dict[str, int] = {}
    kinds = {kind: number for number, kind in enumerate(KINDS)}
    told = {
        "names": names,
        "kinds": list(kinds),
        "parent": [place.get(parent[node], -1) for node in kept],
        "name": [names.setdefault(frames[node][0], len(names)) for node in kept],
        "kind": [kinds[frames[node][1]] for node in kept],
        "pruned": {"nodes": len(parent) - len(kept), "ratio_below": cut_off},
    }
    for side, (whole, own) in zip(sides, (("weight", "self"), ("base", "base_self")), strict=False):
        told[whole] = [_number(side.whole[node]) for node in kept]
        told[own] = [_number(side.own[node]) for node in kept]
    told["names"] = [shorten(safe(name), NAME_MAX) for name in names]
    return told


def _number(value: float) -> float:
    """Without .0: most weights are whole numbers, and the list is long."""
    return int(value) if value == int(value) else value

"""The tree of callchains that both pictures of a flame graph are made from: the SVG (perfcase.stacks.flamegraph), and the plain
lists for a program that draws it itself (``tree``).

Frames of the same name below the same caller are one node, the kernel's apart. Nodes are numbers, parents before their callees; 0 is the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from perfcase.text import safe, shorten

RATIO_MIN = 1e-5
"""The share of all below which a node is left out: a tenth of a pixel on a screen of 10,000, so that zooming in by ten shows it."""
NODES_MAX = 100_000
NAME_MAX = 1000

KINDS = {
    "user": (0.13, "user code"),
    "kernel": (0.06, "kernel"),
    "inlined": (0.50, "inlined"),
    "jit": (0.31, "compiled at run time (JIT)"),
    "unnamed": (None, "without a name"),
    "object": (0.78, "a whole object"),
    "label": (0.60, "thread, state"),
}
"""Kinds of frames: the hue (None: grey) and how the legend calls it."""


class Frame(NamedTuple):
    """A frame of a stack: its name and one of KINDS. A plain string is a frame of user code."""

    name: str
    kind: str = "user"
    dso: str = ""
    """The object that it is in; empty for a label."""
    source: str = ""
    """The source file and line; empty where they are not known."""


Stack = tuple[Sequence[str | Frame], float]
"""Frames, root first, and the weight."""


@dataclass
class Side:
    """The weights of one capture, by node: what was counted in it alone, and with what it called."""

    own: list[float] = field(default_factory=lambda: [0])
    whole: list[float] = field(default_factory=list)


class Tree:
    """The callchains of one capture, or of two: ``sides`` has as many. Linear in their frames."""

    def __init__(self, stacks: Iterable[Stack], base: Iterable[Stack] | None = None) -> None:
        self.parent = [-1]
        """The caller of each node."""
        self.frames: list[Frame] = [Frame("all", "label")]
        self.callees: list[dict[str, int]] = [{}]
        """The callees of each node, by name."""
        self.others: dict[int, dict[Frame, float]] = {}
        """What was counted in frames of a node other than its first: those of other lines, and of other objects."""
        self.sides = [Side() for _ in range(1 if base is None else 2)]
        for side, given in zip(self.sides, (stacks, base or ()), strict=False):
            self._add(side.own, given)
        for side in self.sides:
            side.own.extend([0] * (len(self.parent) - len(side.own)))
            whole = side.whole = list(side.own)
            for node in range(len(self.parent) - 1, 0, -1):
                whole[self.parent[node]] += whole[node]

    def _add(self, own: list[float], stacks: Iterable[Stack]) -> None:
        parent, frames, callees = self.parent, self.frames, self.callees
        for path, weight in stacks:
            if not weight > 0:
                continue
            node = 0
            for frame in path:
                # The kernel's function is another one than the library's of this name.
                name = frame if isinstance(frame, str) else frame[0] if frame[1] != "kernel" else frame[0] + "\0"
                below = callees[node]
                found = below.get(name)
                if found is None:
                    found = below[name] = len(parent)
                    parent.append(node)
                    frames.append(Frame(name) if isinstance(frame, str) else frame)
                    callees.append({})
                elif frame is not frames[found] and not isinstance(frame, str) and frame != frames[found]:
                    others = self.others.setdefault(found, {})
                    others[frame] = others.get(frame, 0) + weight
                node = found
            own.extend([0] * (len(parent) - len(own)))
            own[node] += weight

    def places(self, node: int) -> dict[tuple[str, str], float]:
        """Return the objects and lines of a node with what was counted in each, in both captures; none for a label."""
        frame, others = self.frames[node], self.others.get(node, {})
        found = {(frame.dso, frame.source): sum(side.whole[node] for side in self.sides) - sum(others.values())}
        for other, weight in others.items():
            found[other.dso, other.source] = found.get((other.dso, other.source), 0) + weight
        found.pop(("", ""), None)
        return found


def tree(stacks: Iterable[Stack], base: Iterable[Stack] | None = None, nodes_max: int = NODES_MAX) -> dict[str, Any]:
    """Return the tree as plain lists: see ``drawn``."""
    return drawn(Tree(stacks, base), nodes_max)


def drawn(whole_tree: Tree, nodes_max: int = NODES_MAX) -> dict[str, Any]:
    """Return a tree as plain lists, parents before their callees.

    For node n: ``parent[n]`` is its caller (-1 of the root), ``name[n]`` and ``kind[n]`` are places in ``names`` and
    ``kinds``, ``weight[n]`` is what was counted in it and in what it called, ``self[n]`` in it alone; with a base ``base``
    and ``base_self`` are the same of the other capture. ``object[n]`` and ``source[n]`` are places in ``objects`` and
    ``sources``: where most of its weight is, -1 where that is not known; ``places[n]`` is how many pairs of an object and a
    line it has. The latter two are empty where no line is known, and where no node has a second pair. What is too small to be seen is left out and counted: ``pruned``. A
    weight that is more than ``self`` and the weights of the callees says how much is left out there: perfcase.stacks.beside has
    the figures that need it.
    """
    sides = whole_tree.sides
    nodes, cut_off = kept(whole_tree.parent, [side.whole for side in sides], nodes_max)
    weights = [(side.whole, side.own) for side in sides]
    places = (_most(whole_tree.places(node)) for node in nodes)
    return listed(whole_tree.parent, whole_tree.frames, weights, places, nodes, cut_off)


def kept(
    parent: Sequence[int], wholes: Sequence[Sequence[float]], nodes_max: int = NODES_MAX
) -> tuple[list[int], float]:
    """Return the nodes that are large enough to be seen, and the share that this takes. ``wholes``: the weights of each side."""
    shares = [max((whole[n] / whole[0] if whole[0] else 0) for whole in wholes) for n in range(len(parent))]
    if sum(share >= RATIO_MIN for share in shares) > nodes_max:
        # A node never has more than its caller: what is above a bound is a tree.
        cut_off = sorted(shares, reverse=True)[nodes_max]
        return [node for node, share in enumerate(shares) if share > cut_off or node == 0], cut_off
    return [node for node, share in enumerate(shares) if share >= RATIO_MIN or node == 0], RATIO_MIN


def listed(
    parent: Sequence[int],
    frames: Sequence[Frame],
    weights: Sequence[tuple[Sequence[float], Sequence[float]]],
    places: Iterable[tuple[str, str, int]],
    nodes: Sequence[int],
    cut_off: float,
) -> dict[str, Any]:
    """Return some nodes as ``drawn`` has them. ``weights``: whole and own of each side; ``places``: of each node where most of it is, and in
    how many places it is."""
    place = {node: number for number, node in enumerate(nodes)}
    names: dict[str, int] = {}
    kinds = {kind: number for number, kind in enumerate(KINDS)}
    document = {
        "names": names,
        "kinds": list(kinds),
        "parent": [place.get(parent[node], -1) for node in nodes],
        "name": [names.setdefault(frames[node][0], len(names)) for node in nodes],
        "kind": [kinds[frames[node][1]] for node in nodes],
        "pruned": {"nodes": len(parent) - len(nodes), "ratio_below": cut_off},
    }
    for side, (whole, own) in zip(weights, (("weight", "self"), ("base", "base_self")), strict=False):
        document[whole] = [plain(side[0][node]) for node in nodes]
        document[own] = [plain(side[1][node]) for node in nodes]
    document.update(_places(places))
    document["names"] = [shown(name) for name in names]
    return document


def shown(name: str) -> str:
    """Return a name as the tree has it."""
    return shorten(safe(name), NAME_MAX)


def _most(places: dict[tuple[str, str], float]) -> tuple[str, str, int]:
    """Return the heaviest of a node's places, and how many it has."""
    return (*(min(places, key=lambda place: (-places[place], place)) if places else ("", "")), len(places))


def _places(places: Iterable[tuple[str, str, int]]) -> dict[str, list]:
    """Return as lists where most of each node is, and how many places it has."""
    objects: dict[str, int] = {"": -1}
    sources: dict[str, int] = {"": -1}
    found: dict[str, list] = {"object": [], "source": [], "places": []}
    for dso, source, number in places:
        found["object"].append(objects.setdefault(dso, len(objects) - 1))
        found["source"].append(sources.setdefault(source, len(sources) - 1))
        found["places"].append(number)
    if len(sources) == 1:
        found["source"] = []
    if max(found["places"], default=0) < 2:
        found["places"] = []
    named = {"objects": [shown(each) for each in objects][1:], "sources": [shown(each) for each in sources][1:]}
    return {**named, **found}


def plain(value: float) -> float:
    """Drop a .0: most weights are whole numbers, and the list is long."""
    return int(value) if value == int(value) else value

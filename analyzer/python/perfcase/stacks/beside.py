"""What stands beside the tree of a flame graph: the functions of a part of it, what a search finds, the callers and callees of a function.

The page has the tree without what is too small to be seen (``tree``). Worked out there, each of these figures would lack that. Here
they are of whole callchains. Where nothing is left out, the page works out the same (api/web/src/flame/tree.ts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from perfcase.errors import PerfcaseError
from perfcase.stacks.tree import Tree, kept, listed, plain, shown

TOP_MAX = 25
"""How many functions are listed by each measure."""
PATH_NODES_MAX = 20_000
"""How many nodes the callers or callees of a function have at most."""

Function = tuple[str, bool]
"""A name, and whether it is the kernel's: that is another function than a library's of this name."""


def functions(tree: Tree, node: int, find: str, *, is_inverted: bool = False) -> dict[str, Any]:
    """Return the functions in a node and below, those with the most first, of names that have a text in them; and what this text finds.

    ``node``: its number in the lists of ``tree``. One that is in a callchain twice counts once, as in the view function_profile. Threads and
    states are no functions, but a search finds them. ``names[n]``, ``kinds[n]``, ``self[n]``, ``total[n]`` and ``base[n]`` are of one function:
    each that is among the first ``TOP_MAX`` by one of ``counts``, which says how many there are by each.
    """
    sides = tree.sides
    start = _node(tree, node)
    whole, base = sides[0].whole, sides[-1].whole if len(sides) > 1 else None
    own = _own(tree) if is_inverted else sides[0].own
    wanted = find.lower()
    hits: dict[str, bool] = {}
    found: dict[Function, list[Any]] = {}
    matched = 0.0
    for each, outer in _walked(tree, start, hits, wanted):
        name, kind = tree.frames[each][:2]
        if outer.hit:
            matched += whole[each]
        if kind == "label":
            continue
        key = (name, kind == "kernel")
        part = found.get(key)
        if part is None:
            part = found[key] = [kind, 0, 0, 0]
        part[1] += own[each]
        if outer.function:
            part[2] += whole[each]
            part[3] += base[each] if base else 0
    all_, before = whole[start], base[start] if base else 0

    def change(part: list[Any]) -> float:
        return abs((part[2] / all_ if all_ else 0) - (part[3] / before if before else 0))

    measures: dict[str, Callable[[list[Any]], float]] = {"self": lambda part: part[1], "total": lambda part: part[2]}
    if base:
        measures["change"] = change
    matching = [(key, part) for key, part in found.items() if wanted in shown(key[0]).lower()]
    counts, first = {}, {}
    for measure, size in measures.items():
        some = [each for each in matching if size(each[1]) > 0]
        counts[measure] = len(some)
        # As JavaScript sorts names.
        some.sort(key=lambda each: (-size(each[1]), shown(each[0][0]).encode("utf-16-be")))
        first.update(dict(some[:TOP_MAX]))
    return {
        "weight": plain(all_),
        "found": plain(matched),
        "has_self": any(part[1] > 0 for part in found.values()),
        "counts": {"self": 0, "total": 0, "change": 0, **counts},
        "names": [shown(name) for name, _ in first],
        "kinds": [part[0] for part in first.values()],
        "self": [plain(part[1]) for part in first.values()],
        "total": [plain(part[2]) for part in first.values()],
        "base": [plain(part[3]) for part in first.values()],
    }


class _Outer:
    """Whether a node is the outermost one of its function, and of what a search finds."""

    __slots__ = ("function", "hit")

    def __init__(self) -> None:
        self.function = self.hit = False


def _walked(tree: Tree, start: int, hits: dict[str, bool], wanted: str) -> Iterator[tuple[int, _Outer]]:
    """Yield the nodes below a node and itself, but not the root of all, with what is outermost: callers before their callees."""
    frames, callees = tree.frames, tree.callees
    open_: dict[tuple[str, bool], int] = {}
    open_hits = 0
    outer = _Outer()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        is_left = node < 0
        node = ~node if is_left else node
        name, kind = frames[node][:2]
        is_hit = hits.get(name)
        if is_hit is None:
            is_hit = hits[name] = bool(wanted) and wanted in shown(name).lower()
        key = (name, kind == "kernel")
        if node and is_left:
            open_[key] -= 1
            open_hits -= is_hit
        elif not is_left:
            if node:
                depth = open_.get(key, 0)
                outer.function, outer.hit = depth == 0, is_hit and open_hits == 0
                open_[key] = depth + 1
                open_hits += is_hit
                yield node, outer
            waiting.append(~node)
            waiting.extend(callees[node].values())


def _own(tree: Tree) -> list[float]:
    """Return what was counted in each node itself, upside down: what ran is next to the root."""
    return [whole if parent == 0 else 0 for whole, parent in zip(tree.sides[0].whole, tree.parent, strict=True)]


def _node(tree: Tree, number: int) -> int:
    """Return the node that a number in the lists of a tree means."""
    nodes, _ = kept(tree.parent, [side.whole for side in tree.sides])
    if number >= len(nodes):
        raise PerfcaseError("not_found", f"the tree has no node {number}", f"it has {len(nodes)}")
    return nodes[number]


def neighbours(tree: Tree, name: str, *, is_inverted: bool = False) -> dict[str, Any]:
    """Return who calls a function, and what it calls, each as the lists of ``tree`` with the function as the root.

    ``self`` of the callers is what was counted in the function itself, called by them. Where it is in a callchain twice, the callees
    are those of the outer one, the callers those of the inner one, as in the views callees and callers.
    """
    named = {frame.name for frame in tree.frames[1:]}
    of = {each for each in named if shown(each) == name}
    # The root of all is no function.
    is_it = [node > 0 and frame.name in of for node, frame in enumerate(tree.frames)]
    own = _own(tree) if is_inverted else tree.sides[0].own
    above, below = _Paths(tree, own, is_it), _Paths(tree, own, is_it)
    above.up()
    below.down()
    if is_inverted:
        above, below = below, above
    itself = sum(weight for weight, is_one in zip(own, is_it, strict=True) if is_one)
    return {"name": name, "self": plain(itself), "callers": above.listed(), "callees": below.listed()}


class _Paths:
    """A tree of the paths from a function. Equal names below the same node are one node."""

    def __init__(self, tree: Tree, own: list[float], is_it: list[bool]) -> None:
        self._of = tree
        self._own = own
        self._is_it = is_it
        first = next((node for node, is_one in enumerate(is_it) if is_one), 0)
        self.parent = [-1]
        self.frames = [tree.frames[first]._replace(dso="", source="")]
        self.places: list[set[tuple[str, str]]] = [set()]
        self.weights: list[list[float]] = [[0] for _ in tree.sides]
        self.own: list[float] = [0]
        self._found: dict[tuple[int, str], int] = {}

    def up(self) -> None:
        """Add who calls the function."""
        tree, sides = self._of, self._of.sides
        nested = [[0.0] * len(tree.parent) for _ in sides]
        # Callees before their callers, so that what is nested in a node is known when it is reached.
        for node in range(len(tree.parent) - 1, 0, -1):
            caller = tree.parent[node]
            if not self._is_it[node]:
                for side in nested:
                    side[caller] += side[node]
                continue
            weights = []
            for side, inner in zip(sides, nested, strict=True):
                inner[caller] += side.whole[node]
                weights.append(side.whole[node] - inner[node])
            if not any(weight > 0 for weight in weights):
                continue
            at = 0
            self._add(at, weights, self._own[node])
            while caller > 0:
                at = self._below(at, caller)
                self._add(at, weights, self._own[node])
                caller = tree.parent[caller]

    def down(self) -> None:
        """Add what the function calls."""
        tree = self._of
        at = [-1] * len(tree.parent)
        for node in range(1, len(tree.parent)):
            above = at[tree.parent[node]]
            if above >= 0:
                at[node] = self._below(above, node)
            elif self._is_it[node]:
                at[node] = 0
            else:
                continue
            self._add(at[node], [side.whole[node] for side in tree.sides], self._own[node])

    def _below(self, above: int, node: int) -> int:
        frame = self._of.frames[node]
        at = self._found.setdefault((above, frame.name), len(self.parent))
        if at == len(self.parent):
            self.parent.append(above)
            self.frames.append(frame)
            self.places.append(set())
            self.own.append(0)
            for side in self.weights:
                side.append(0)
        self._see(at, node)
        return at

    def _add(self, at: int, weights: list[float], own: float) -> None:
        for side, weight in zip(self.weights, weights, strict=True):
            side[at] += weight
        self.own[at] += own

    def _see(self, at: int, node: int) -> None:
        """Note where a node is. A label is nowhere."""
        frame = self._of.frames[node]
        if frame.kind != "label":
            self.places[at].add((frame.dso, frame.source))
            self.places[at].update((other.dso, other.source) for other in self._of.others.get(node, ()))

    def listed(self) -> dict[str, Any]:
        """Return it as the lists of ``tree``, without what is too small to be seen."""
        nodes, cut_off = kept(self.parent, self.weights, PATH_NODES_MAX)
        weights = [(side, self.own if number == 0 else [0] * len(side)) for number, side in enumerate(self.weights)]
        return listed(self.parent, self.frames, weights, (self._place(node) for node in nodes), nodes, cut_off)

    def _place(self, node: int) -> tuple[str, str, int]:
        """Return what all places of a node have in common, and their number: 0 for several."""
        places = self.places[node]
        objects = {dso for dso, _ in places}
        source = next(iter(places))[1] if len(places) == 1 else ""
        return objects.pop() if len(objects) == 1 else "", source, 1 if len(places) == 1 else 0

"""What is made of callchains before they are added up: some left out, libraries and recursion as one frame, the leaf at the root.

All of it is done to whole callchains. In the tree that the page has, what is too small to be seen is missing: there each figure
would lack it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from perfcase.stacks.tree import Frame, Stack, plain, shown


@dataclass(frozen=True)
class Shaping:
    """What is done to callchains, in this order."""

    include: tuple[str, ...] = ()
    """Only stacks that have a frame with each of these names, as the tree spells them."""
    exclude: tuple[str, ...] = ()
    """No stacks that have a frame with one of these names."""
    collapse: frozenset[str] = frozenset()
    """Objects whose frames are one: neighbours in a stack that lie in the same one of these are one frame, of its name."""
    merges_recursion: bool = False
    """Frames that repeat the frames directly before them are left out: A A is A, A B A B is A B."""
    is_inverted: bool = False
    """The leaf is at the root."""

    def words(self) -> Iterator[str]:
        """Yield what is done, for a title."""
        yield from (f"only stacks with {name}" for name in self.include)
        yield from (f"without stacks with {name}" for name in self.exclude)
        yield from (f"{name} as one frame" for name in sorted(self.collapse))
        if self.merges_recursion:
            yield "recursion merged"
        if self.is_inverted:
            yield "inverted"


class Shaped:
    """Stacks after that, to be read once; then ``left_out`` says what they lack."""

    def __init__(self, stacks: Iterable[Stack], shaping: Shaping) -> None:
        self._stacks = stacks
        self._shaping = shaping
        self._collapsed: dict[str, Frame] = {}
        self._named: dict[Frame, frozenset[str]] = {}
        self._wanted = frozenset((*shaping.include, *shaping.exclude))
        self.left_out: Counter[tuple[str, str]] = Counter()
        """The weight that each condition leaves out; a stack counts for the first that does."""

    def __iter__(self) -> Iterator[Stack]:
        shaping = self._shaping
        for path, weight in self._stacks:
            if self._wanted and (reason := self._reason(path)):
                self.left_out[reason] += weight
                continue
            if shaping.collapse:
                path = self._collapse(path)
            if shaping.merges_recursion:
                path = merged(path)
            yield path[::-1] if shaping.is_inverted else path, weight

    def is_whole(self, dso: str) -> bool:
        """Return whether an object is one frame somewhere."""
        return dso in self._collapsed

    def listed(self, base: Shaped | None = None) -> list[dict[str, object]]:
        """Return what each condition leaves out, in their order; with a base ``base`` is the same of the other capture."""
        asked = [(how, name) for how in ("include", "exclude") for name in getattr(self._shaping, how)]
        return [
            {"how": how, "name": name, "weight": plain(self.left_out[how, name])}
            | ({"base": plain(base.left_out[how, name])} if base else {})
            for how, name in dict.fromkeys(asked)
        ]

    def _reason(self, path: Sequence[Frame]) -> tuple[str, str] | None:
        """Return the condition that leaves a stack out."""
        names: set[str] = set()
        for frame in path:
            names |= self._names(frame)
        for name in self._shaping.include:
            if name not in names:
                return "include", name
        for name in self._shaping.exclude:
            if name in names:
                return "exclude", name
        return None

    def _names(self, frame: Frame) -> frozenset[str]:
        """Return by which of the names that are looked for a frame is known."""
        found = self._named.get(frame)
        if found is None:
            # In a comparison a name that several objects have is followed by its object's.
            names = {frame.name, frame.name.removesuffix(f" ({frame.dso})")}
            if frame.dso in self._shaping.collapse:
                names.add(_whole(frame.dso))
            found = self._named[frame] = self._wanted & {shown(name) for name in names}
        return found

    def _collapse(self, path: Sequence[Frame]) -> list[Frame]:
        found: list[Frame] = []
        for frame in path:
            # A label lies in no object.
            if frame.dso and frame.dso in self._shaping.collapse:
                one = self._collapsed.get(frame.dso)
                if one is None:
                    one = self._collapsed[frame.dso] = Frame(_whole(frame.dso), "object", frame.dso)
                if found and found[-1] is one:
                    continue
                frame = one
            found.append(frame)
        return found


def _whole(dso: str) -> str:
    """Return the name of the frame that stands for an object: in brackets, for threads often have the bare name."""
    return f"[{dso.strip('[]')}]"


def merged(path: Sequence[Frame]) -> Sequence[Frame]:
    """Return a stack without the frames that repeat those directly before them.

    Frames are the same if function and object are. The last frame stays the last, and no function is lost, so neither what was
    counted in a function itself nor with what it calls changes.
    """
    steps = [(frame.name, frame.dso) for frame in path]
    if len(set(steps)) == len(steps):
        return path
    kept: list[int] = []
    places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, step in enumerate(steps):
        place = next((one for one in reversed(places[step]) if _is_repeated(steps, kept, one)), None)
        if place is None:
            places[step].append(len(kept))
            kept.append(number)
            continue
        while len(kept) > place + 1:
            places[steps[kept.pop()]].pop()
    return [path[number] for number in kept]


def _is_repeated(steps: Sequence[tuple[str, str]], kept: Sequence[int], place: int) -> bool:
    """Return whether the frames up to a place are those after it, with one more that is the same as at this place."""
    length = len(kept) - place
    return length <= place + 1 and all(steps[kept[place - back]] == steps[kept[-back]] for back in range(1, length))

"""What is made of callchains before they are added up: some left out, libraries and recursion as one frame, the leaf at the root.

All of it is done to whole callchains. In the tree that the page has, what is too small to be seen is missing: there each figure
would lack it.
"""

from __future__ import annotations

from collections import Counter
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
            found = self._named[frame] = self._wanted & names_of(frame, self._shaping.collapse)
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


def names_of(frame: Frame, collapse: frozenset[str]) -> set[str]:
    """Return by which names a frame is known, as the tree spells them."""
    # In a comparison a name that several objects have is followed by its object's.
    names = {frame.name, frame.name.removesuffix(f" ({frame.dso})")}
    if frame.dso in collapse:
        names.add(_whole(frame.dso))
    return {shown(name) for name in names}


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
    words = _Words()
    for number, step in enumerate(steps):
        kept.append(number)
        words.append(step)
        if length := words.repeated():
            words.drop(length)
            del kept[-length:]
    return [path[number] for number in kept]


class _Words:
    """A sequence in which nothing stands twice in a row, and whether its end does now: n log n steps for n frames, of any frames.

    Each word of 1, 2, 4, … steps has a number, that of its two halves together. Two words of any length are the same if the numbers of their
    first and of their last such part are. Where nothing stands twice in a row, a word of n steps begins at most once in n places:
    so few places have to be looked at.
    """

    def __init__(self) -> None:
        self.looks = 0
        """How many places were looked at: what tests count."""
        self._size = 0
        self._numbers: list[dict[object, int]] = []
        self._ending: list[list[int]] = []
        """By the power of two: the number of the word that ends at each place."""
        self._places: list[dict[int, list[int]]] = []
        """By the power of two: where each word ends, in order."""

    def append(self, step: object) -> None:
        """Add a step."""
        self._size += 1
        power, length = 0, 1
        word = step
        while length <= self._size:
            if power == len(self._numbers):
                self._numbers.append({})
                self._ending.append([-1] * (length - 1))
                self._places.append({})
            numbers, ending = self._numbers[power], self._ending[power]
            number = numbers.setdefault(word, len(numbers))
            ending.append(number)
            self._places[power].setdefault(number, []).append(self._size - 1)
            if 2 * length <= self._size:
                word = (ending[-1 - length], number)
            power, length = power + 1, 2 * length

    def repeated(self) -> int:
        """Return the length of the shortest word that stands twice at the end; 0: none does."""
        last = self._size - 1
        length = 1
        for power, ending in enumerate(self._ending):
            if 2 * length > self._size:
                break
            for place in reversed(self._places[power][ending[last]]):
                distance = last - place
                if distance < length:
                    continue
                if distance >= 2 * length or 2 * distance > self._size:
                    break
                self.looks += 1
                first = last - distance + length
                if ending[first] == ending[first - distance]:
                    return distance
            length *= 2
        return 0

    def drop(self, count: int) -> None:
        """Drop the last steps."""
        for _ in range(count):
            for power, ending in enumerate(self._ending):
                if 1 << power > self._size:
                    break
                self._places[power][ending.pop()].pop()
            self._size -= 1

"""Flame graphs: one SVG that needs nothing else, of one capture or of the difference between two.

The layout is the usual one: a frame is as wide as what was counted in it and in what it called, callees stand on their
callers, siblings are in the order of their names, the root is at the bottom. Cost is linear in the frames of the stacks.

Names come from captures and are hostile: each is spelled without control characters and escaped.
"""

from __future__ import annotations

import colorsys
import textwrap
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import NamedTuple

from perfcase.text import count, duration, ratio, safe, shorten, size

WIDTH = 1200
"""Pixels that the picture is laid out for; it scales to the width of the page."""
WIDTH_MIN = 0.1
"""Frames narrower than this many pixels of WIDTH are not drawn."""
FRAMES_MAX = 20_000
"""Frames that are drawn; the narrowest go first."""
NAME_MAX = 400

_ROW = 16
_CHAR = 7
"""Pixels of a character; the script has the same."""
_MARGIN = 4

KINDS = {
    "user": (0.13, "user code"),
    "kernel": (0.06, "kernel"),
    "inlined": (0.50, "inlined"),
    "jit": (0.31, "compiled at run time (JIT)"),
    "unnamed": (None, "without a name"),
    "label": (0.60, "thread, state"),
}
"""Kinds of frames: the hue (None: grey) and how the legend calls it."""


class Frame(NamedTuple):
    """A frame of a stack: its name and one of KINDS. A plain string is a frame of user code."""

    name: str
    kind: str = "user"


Stack = tuple[Sequence[str | Frame], float]
"""Frames, root first, and the weight."""


@dataclass
class _Node:
    name: str
    kind: str
    weight: float = 0
    base: float = 0
    children: dict[str, _Node] = field(default_factory=dict)


class _Box(NamedTuple):
    """A drawn frame: x and width are shares of the whole."""

    node: _Node
    depth: int
    x: float
    width: float


class FlameGraph:
    """A flame graph: ``svg()`` is the picture, ``notes`` say what it shows and what it leaves out.

    With ``base``, the stacks of another capture, widths are those of ``stacks``, and the colour tells the difference of the
    shares that a path has of all: red took more than in the base, blue less. Frames that only the base has are in the notes.
    """

    def __init__(
        self,
        stacks: Iterable[Stack],
        *,
        title: str,
        unit: str = "samples",
        base: Iterable[Stack] | None = None,
        base_title: str = "the base",
        frames_max: int = FRAMES_MAX,
        icicle: bool = False,
    ) -> None:
        self.title = title
        self.unit = unit
        self._is_diff = base is not None
        self._base_title = base_title
        self._icicle = icicle
        self._write = _WRITERS.get(unit, lambda value: f"{count(value)} {unit}")
        self.root = _Node("all", "label")
        _add(self.root, stacks, "weight")
        _add(self.root, base or (), "base")
        self.boxes, left_out, cut_off = _layout(self.root, frames_max)
        self.depth = max((box.depth for box in self.boxes), default=0)
        self._most = max((abs(self._difference(box.node)) for box in self.boxes), default=0)
        self.notes = list(self._notes(left_out, cut_off))

    def svg(self, *, bare: bool = False) -> str:
        """The picture; ``bare``: without title and notes, for a page that has them itself."""
        return "".join(self._parts(bare))

    def _parts(self, bare: bool) -> Iterator[str]:
        lines = [] if bare else [line for note in self.notes for line in textwrap.wrap(safe(note), 150)]
        search_y = 8 if bare else 26 + 16 * len(lines)
        legend_y = search_y + 44
        top = legend_y + 12
        height = top + (self.depth + 1) * _ROW + 8
        layout = "flame icicle" if self._icicle else "flame"
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{layout}" width="{WIDTH}" height="{height}"'
            f' data-search-y="{search_y}" role="group" aria-label="{_text(self.title)}">'
            f"<style>{STYLE}</style>"
        )
        if not bare:
            yield f'<text class="title" x="{_MARGIN}" y="18">{_text(self.title)}</text>'
            for number, line in enumerate(lines):
                yield f'<text class="note" x="{_MARGIN}" y="{36 + 16 * number}">{escape(line)}</text>'
        yield f'<text class="status" x="200" y="{search_y + 16}" aria-live="polite"></text>'
        yield from self._legend(legend_y)
        for box in self.boxes:
            row = box.depth if self._icicle else self.depth - box.depth
            yield self._frame(box, top + row * _ROW)
        yield f"<script><![CDATA[{SCRIPT}]]></script></svg>\n"

    def _frame(self, box: _Box, y: int) -> str:
        node = box.node
        name = shorten(safe(node.name), NAME_MAX)
        room = int((box.width * WIDTH - 6) / _CHAR)
        label = ""
        if room >= 3:
            shown = name if len(name) <= room else name[: room - 2] + ".."
            label = f'<text x="3" y="12">{escape(shown)}</text>'
        return (
            f'<svg class="f" data-d="{box.depth}" x="{_percent(box.x)}" y="{y}" width="{_percent(box.width)}" height="15">'
            f"<title>{escape(name)} ({self._figures(node)})</title>"
            f'<rect width="100%" height="15" rx="1.5" fill="{self._colour(node)}"/>{label}</svg>'
        )

    def _figures(self, node: _Node) -> str:
        told = f"{self._write(node.weight)}, {ratio(_share(node.weight, self.root.weight))}"
        if self._is_diff:
            before = _share(node.base, self.root.base)
            told += f"; {escape(safe(self._base_title))}: {self._write(node.base)}, {ratio(before)}"
        return told

    def _difference(self, node: _Node) -> float:
        return _share(node.weight, self.root.weight) - _share(node.base, self.root.base)

    def _colour(self, node: _Node) -> str:
        if not self._is_diff:
            hue = KINDS.get(node.kind, KINDS["user"])[0]
            # The same name has the same shade in every picture.
            shade = (zlib.crc32(node.name.encode("utf-8", "replace")) & 0xFF) / 255
            return _hex(hue or 0, 0.68 + 0.16 * shade, 0.85 if hue is not None else 0)
        difference = self._difference(node)
        strength = abs(difference) / self._most if self._most else 0
        return _hex(0.0 if difference > 0 else 0.6, 0.95 - 0.35 * strength, 0.9 if strength else 0)

    def _legend(self, y: int) -> Iterator[str]:
        if self._is_diff:
            named = [
                (_hex(0, 0.6, 0.9), "larger share"),
                (_hex(0.6, 0.6, 0.9), "smaller share"),
                (_hex(0, 0.95, 0), "as it was"),
            ]
        else:
            seen = {box.node.kind for box in self.boxes}
            named = [
                (_hex(h or 0, 0.76, 0.85 if h is not None else 0), text) for k, (h, text) in KINDS.items() if k in seen
            ]
        x = _MARGIN
        for colour, text in named:
            yield f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
            yield f'<text class="note" x="{x + 14}" y="{y}">{text}</text>'
            x += 24 + int(6.5 * len(text))

    def _notes(self, left_out: int, cut_off: float) -> Iterator[str]:
        if not self.root.weight:
            yield "No stacks: nothing to draw."
        else:
            yield (
                f"Width: {self._write(self.root.weight)} in all. A frame is as wide as what was counted in it and in what it"
                " called; it stands on its caller; order from left to right is by name, not by time."
            )
        if left_out:
            yield (
                f"{left_out:,} frames with less than {self._write(cut_off)}"
                f" ({100 * _share(cut_off, self.root.weight):.3g} % of the width) each are not drawn."
            )
        if self._is_diff:
            gone = sum(node.base for node in _topmost_gone(self.root))
            yield (
                f"Colour: red has a larger share of all than in {self._base_title} ({self._write(self.root.base)} in all), blue a"
                f" smaller one. {ratio(_share(gone, self.root.base))} of {self._base_title} is in paths that are not here."
            )


def svg(stacks: Iterable[Stack], *, title: str, base: Iterable[Stack] | None = None, **options: object) -> str:
    """The flame graph of stacks (frames root first, weight); options as of FlameGraph."""
    return FlameGraph(stacks, title=title, base=base, **options).svg()  # type: ignore[arg-type]


def _add(root: _Node, stacks: Iterable[Stack], which: str) -> None:
    for frames, weight in stacks:
        if not weight > 0:
            continue
        node = root
        setattr(node, which, getattr(node, which) + weight)
        for frame in frames:
            name, kind = (frame, "user") if isinstance(frame, str) else frame
            child = node.children.get(name)
            if child is None:
                child = node.children[name] = _Node(name, kind)
            node = child
            setattr(node, which, getattr(node, which) + weight)


def _layout(root: _Node, frames_max: int) -> tuple[list[_Box], int, float]:
    """The frames that are drawn, parents first; how many are not, and the weight below which they are not."""
    if not root.weight:
        return [], 0, 0
    cut_off = root.weight * WIDTH_MIN / WIDTH
    boxes = []
    number = 0
    waiting = [_Box(root, 0, 0.0, 1.0)]
    while waiting:
        box = waiting.pop()
        number += 1
        if box.node.weight >= cut_off:
            boxes.append(box)
        x = box.x
        below = []
        for _, node in sorted(box.node.children.items()):
            if node.weight:
                width = node.weight / root.weight
                below.append(_Box(node, box.depth + 1, x, width))
                x += width
        waiting.extend(reversed(below))
    if len(boxes) > frames_max:
        # A frame is never heavier than its caller: what is left of the heaviest is a tree.
        cut_off = sorted((box.node.weight for box in boxes), reverse=True)[frames_max]
        boxes = [box for box in boxes if box.node.weight > cut_off]
        cut_off = min((box.node.weight for box in boxes), default=cut_off)
    return boxes, number - len(boxes), cut_off


def _topmost_gone(root: _Node) -> Iterator[_Node]:
    """Nodes that only the base has, whose caller both have."""
    waiting = [root]
    while waiting:
        for child in waiting.pop().children.values():
            if child.weight:
                waiting.append(child)
            else:
                yield child


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.5f}".rstrip("0").rstrip(".") + "%"


def _text(text: str) -> str:
    return escape(safe(text))


def _hex(hue: float, lightness: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, lightness, saturation))


_WRITERS: dict[str, Callable[[float], str]] = {"ns": duration, "bytes": size}

SCRIPT = (files("perfcase") / "flamegraph.js").read_text(encoding="utf-8")
"""The only script; it loads nothing. No text of a capture is ever put into it."""

STYLE = """
.flame{width:100%;background:#fff;font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.flame text{fill:#111}.flame .title{font:bold 15px sans-serif}
.flame .note,.flame .status{font:12px sans-serif;fill:#333}
.flame .f{cursor:pointer;overflow:hidden}.flame .f text{pointer-events:none}
.flame .f:hover>rect,.flame .f:focus>rect{stroke:#000;stroke-width:2}.flame .f:focus{outline:none}
.flame .hit{fill:#e600e6}
.flame .search{width:100%;box-sizing:border-box;font:12px sans-serif}
@media (prefers-color-scheme:dark){.flame{background:#16181d}.flame .note,.flame .status,.flame .title{fill:#ddd}
.flame .f:hover>rect,.flame .f:focus>rect{stroke:#fff}}
@media print{.flame{background:#fff}.flame .note,.flame .title{fill:#000}.flame .search{display:none}}
"""

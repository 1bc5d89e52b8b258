"""Flame graphs: one SVG that needs nothing else, of one capture or of the difference between two.

The layout is the usual one: a frame is as wide as what was counted in it and in what it called, callees stand on their
callers, siblings are in the order of their names, the root is at the bottom. Cost is linear in the frames of the stacks.

Names come from captures and are hostile: each is spelled without control characters and escaped.
"""

from __future__ import annotations

import colorsys
import textwrap
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import NamedTuple

from perfcase.stacks.tree import KINDS, Stack, Tree
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


class _Box(NamedTuple):
    """A drawn frame: x and width are shares of the whole."""

    node: int
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
        self.tree = Tree(stacks, base)
        self._weight = self.tree.sides[0].whole
        self._base = self.tree.sides[-1].whole
        self.boxes, left_out, cut_off = _layout(self.tree, frames_max)
        self.depth = max((box.depth for box in self.boxes), default=0)
        self._most = max((abs(self._difference(box.node)) for box in self.boxes), default=0)
        self.notes = list(self._notes(left_out, cut_off))

    def note_left_out(self, left_out: Mapping[tuple[str, str], float]) -> None:
        """Note the stacks that conditions left out (perfcase.stacks.shaping)."""
        whole = self._weight[0] + sum(left_out.values())
        for (how, name), weight in left_out.items():
            reason = f"without {name}" if how == "include" else f"with {name}"
            self.notes.append(f"Stacks {reason} are left out: {self._write(weight)} ({ratio(_share(weight, whole))}).")

    def svg(self, *, bare: bool = False) -> str:
        """Return the picture; ``bare``: without title and notes, for a page that has them itself."""
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
        name = shorten(safe(self.tree.frames[box.node].name), NAME_MAX)
        room = int((box.width * WIDTH - 6) / _CHAR)
        label = ""
        if room >= 3:
            shown = name if len(name) <= room else name[: room - 2] + ".."
            label = f'<text x="3" y="12">{escape(shown)}</text>'
        return (
            f'<svg class="f" data-d="{box.depth}" x="{_percent(box.x)}" y="{y}" width="{_percent(box.width)}" height="15">'
            f"<title>{escape(name)} ({self._figures(box.node)})</title>"
            f'<rect width="100%" height="15" rx="1.5" fill="{self._colour(box.node)}"/>{label}</svg>'
        )

    def _figures(self, node: int) -> str:
        weight = self._weight[node]
        title = f"{self._write(weight)}, {ratio(_share(weight, self._weight[0]))}"
        if self._is_diff:
            before = self._base[node]
            share = ratio(_share(before, self._base[0]))
            title += f"; {escape(safe(self._base_title))}: {self._write(before)}, {share}"
        return title

    def _difference(self, node: int) -> float:
        return _share(self._weight[node], self._weight[0]) - _share(self._base[node], self._base[0])

    def _colour(self, node: int) -> str:
        if not self._is_diff:
            name, kind, *_ = self.tree.frames[node]
            hue = KINDS.get(kind, KINDS["user"])[0]
            # The same name has the same shade in every picture.
            shade = (zlib.crc32(name.encode("utf-8", "replace")) & 0xFF) / 255
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
            seen = {self.tree.frames[box.node].kind for box in self.boxes}
            named = [
                (_hex(h or 0, 0.76, 0.85 if h is not None else 0), text) for k, (h, text) in KINDS.items() if k in seen
            ]
        x = _MARGIN
        for colour, text in named:
            yield f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
            yield f'<text class="note" x="{x + 14}" y="{y}">{text}</text>'
            x += 24 + int(6.5 * len(text))

    def _topmost_gone(self) -> Iterator[int]:
        """Yield nodes that only the base has, whose caller both have."""
        for node in range(1, len(self._weight)):
            caller = self.tree.parent[node]
            if not self._weight[node] and (self._weight[caller] or caller == 0):
                yield node

    def _notes(self, left_out: int, cut_off: float) -> Iterator[str]:
        if not self._weight[0]:
            yield "No stacks: nothing to draw."
        else:
            yield (
                f"Width: {self._write(self._weight[0])} in all. A frame is as wide as what was counted in it and in what it"
                " called; it stands on its caller; order from left to right is by name, not by time."
            )
        if left_out:
            yield (
                f"{left_out:,} frames with less than {self._write(cut_off)}"
                f" ({100 * _share(cut_off, self._weight[0]):.3g} % of the width) each are not drawn."
            )
        if self._is_diff:
            gone = sum(self._base[node] for node in self._topmost_gone())
            yield (
                f"Colour: red has a larger share of all than in {self._base_title} ({self._write(self._base[0])} in all), blue a"
                f" smaller one. {ratio(_share(gone, self._base[0]))} of {self._base_title} is in paths that are not here."
            )


def svg(stacks: Iterable[Stack], *, title: str, base: Iterable[Stack] | None = None, **options: object) -> str:
    """Return the flame graph of stacks (frames root first, weight); options as of FlameGraph."""
    return FlameGraph(stacks, title=title, base=base, **options).svg()  # type: ignore[arg-type]


def _layout(tree: Tree, frames_max: int) -> tuple[list[_Box], int, float]:
    """Return the frames that are drawn, parents first; how many are not, and the weight below which they are not."""
    weight = tree.sides[0].whole
    if not weight[0]:
        return [], 0, 0
    cut_off = weight[0] * WIDTH_MIN / WIDTH
    boxes = []
    number = 0
    waiting = [_Box(0, 0, 0.0, 1.0)]
    while waiting:
        box = waiting.pop()
        number += 1
        if weight[box.node] >= cut_off:
            boxes.append(box)
        x = box.x
        below = []
        for _, node in sorted(tree.callees[box.node].items()):
            if weight[node]:
                width = weight[node] / weight[0]
                below.append(_Box(node, box.depth + 1, x, width))
                x += width
        waiting.extend(reversed(below))
    if len(boxes) > frames_max:
        # A frame is never heavier than its caller: what is left of the heaviest is a tree.
        cut_off = sorted((weight[box.node] for box in boxes), reverse=True)[frames_max]
        boxes = [box for box in boxes if weight[box.node] > cut_off]
        cut_off = min((weight[box.node] for box in boxes), default=cut_off)
    return boxes, number - len(boxes), cut_off


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.5f}".rstrip("0").rstrip(".") + "%"


def _text(text: str) -> str:
    return escape(safe(text))


def _hex(hue: float, lightness: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, lightness, saturation))


_WRITERS: dict[str, Callable[[float], str]] = {"ns": duration, "bytes": size}

SCRIPT = (files("perfcase.stacks") / "flamegraph.js").read_text(encoding="utf-8")
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

"""Folded stacks: a line a callchain, ``thread;root;…;leaf weight``, which flamegraph.pl, inferno and speedscope read.

A semicolon in a name separates frames there, so it becomes a colon; line breaks are spelled out. A number after the last
space is the weight, and two of them are those of two profiles, so a leaf that ends in a number has no space before it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import BinaryIO

from perfcase.export.source import NO_SAMPLES, Samples
from perfcase.text import plural, safe

READERS = "flamegraph.pl, inferno"
MEDIA = "text"
SUFFIX = "folded"
UNSUPPORTED = (
    f"{NO_SAMPLES}; times, CPUs and thread ids (threads of one name are one), units, source lines, which code is the"
    " kernel's"
)

_NUMBER = re.compile(r"\s+(\d+(?:\.\d*)?)$", re.ASCII)


def write(samples: Samples, file: BinaryIO) -> None:
    """Write the callchains in the order of their text; the weight is in the event's unit."""
    samples.note_losses(times=False)
    names = {key: _name(frame.name) for key, frame in samples.frames.items()}
    threads = {key: _name(thread.name) for key, thread in samples.threads.items()}
    weights: Counter[tuple[int | None, int]] = Counter()
    for sample in samples.all():
        weights[sample.thread, sample.stack] += sample.weight
    lines: Counter[str] = Counter()
    for (key, stack), weight in weights.items():
        line = ";".join([threads[key], *(names[frame] for frame in reversed(samples.stacks[stack]))])
        lines[_NUMBER.sub(r"_\1", line)] += weight
    weightless = sum(not weight for weight in lines.values())
    if weightless:
        samples.lost.append(f"{plural(weightless, 'callchain')} of weight 0")
    for line, weight in sorted(lines.items()):
        if weight:
            file.write(f"{line} {weight}\n".encode("utf-8", "replace"))


def _name(name: str) -> str:
    # A name that is nothing would be no frame.
    return safe(name).replace(";", ":") or "[empty]"

"""speedscope's own JSON format: a profile a thread, its samples in the order of time."""

from __future__ import annotations

import json
from typing import BinaryIO

from perfcase import __version__
from perfcase.export.source import NO_SAMPLES, Samples

READERS = "speedscope.app"
MEDIA = "json"
SUFFIX = "speedscope.json"
UNSUPPORTED = f"{NO_SAMPLES}; the moments of samples (their order stays), CPUs, addresses, which code is the kernel's"
SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write(samples: Samples, file: BinaryIO) -> None:
    """Write the file. Weights are nanoseconds for clocks; of other events they count, which speedscope calls no unit."""
    samples.note_losses(times=True)
    places = {key: place for place, key in enumerate(samples.frames)}
    frames = []
    for frame in samples.frames.values():
        entry: dict[str, str | int] = {"name": frame.name}
        if frame.source_file:
            entry["file"] = frame.source_file
            if frame.source_line:
                entry["line"] = frame.source_line
        frames.append(entry)
    stacks = [json.dumps([places[key] for key in reversed(stack)], separators=(",", ":")) for stack in samples.stacks]
    unit = "nanoseconds" if samples.unit == "ns" else "none"
    head = {"$schema": SCHEMA, "exporter": f"perfcase {__version__}", "name": f"{samples.name}: {samples.event}"}
    file.write(_json(head)[:-1] + b',"shared":{"frames":' + _json(frames) + b'},"profiles":[')
    heaviest, most = 0, -1
    for number, (thread, rows) in enumerate(samples.by_thread()):
        weights: list[int] = []
        file.write((b"," if number else b"") + b'{"type":"sampled","samples":[')
        for place, sample in enumerate(rows):
            file.write((("," if place else "") + stacks[sample.stack]).encode())
            weights.append(sample.weight)
        total = sum(weights)
        heaviest, most = (number, total) if total > most else (heaviest, most)
        rest = {
            "weights": weights, "name": f"{thread.name} (tid {thread.tid})", "unit": unit, "startValue": 0, "endValue": total
        }  # fmt: skip
        file.write(b"]," + _json(rest)[1:])
    file.write(f'],"activeProfileIndex":{heaviest}}}\n'.encode())


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()

"""pprof's profile.proto, compressed with gzip: what ``go tool pprof`` reads.

Two values a sample: how many samples, and what they stand for. A callchain is one row a thread; inlined functions are locations
of their own, so the self time of a function that was inlined is its own, as pprof counts it.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from perfcase.export.protobuf import message, number, packed, text
from perfcase.export.source import NO_SAMPLES, Samples

READERS = "go tool pprof"
MEDIA = "binary"
SUFFIX = "pb.gz"
UNSUPPORTED = f"{NO_SAMPLES}; the moments and CPUs of samples; addresses of objects are offsets in their files"


class _Strings:
    def __init__(self) -> None:
        self._places = {"": 0}

    def __getitem__(self, value: str | None) -> int:
        return self._places.setdefault(value or "", len(self._places))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)


def write(samples: Samples, file: BinaryIO) -> None:
    """Write the profile; go tool pprof's flat and cum are self and total of function_profile."""
    samples.note_losses(times=False)
    # mtime: the same capture gives the same bytes.
    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as out:
        for part in _parts(samples):
            out.write(part)


def _parts(samples: Samples) -> Iterator[bytes]:
    strings = _Strings()
    unit = {"ns": "nanoseconds"}.get(samples.unit, "count")
    kinds = [("samples", "count"), (samples.event, unit)]
    for kind, of_unit in kinds:
        yield message(1, number(1, strings[kind]) + number(2, strings[of_unit]))
    weights: Counter[tuple[int | None, int]] = Counter()
    counts: Counter[tuple[int | None, int]] = Counter()
    for sample in samples.all():
        weights[sample.thread, sample.stack] += sample.weight
        counts[sample.thread, sample.stack] += 1
    for (key, stack), count in counts.items():
        thread = samples.threads[key]
        yield message(
            2,
            packed(1, [frame + 1 for frame in samples.stacks[stack]])
            + packed(2, [count, weights[key, stack]])
            + message(3, number(1, strings["thread"]) + number(2, strings[thread.name]))
            + message(3, number(1, strings["process"]) + number(2, strings[thread.process]))
            + message(3, number(1, strings["tid"]) + number(3, thread.tid))
            + message(3, number(1, strings["pid"]) + number(3, thread.pid)),
        )
    used = {frame for stack in samples.stacks for frame in stack}
    yield from _mappings(samples, strings, {samples.frames[key].dso_id for key in used})
    yield from _locations(samples, strings, used)
    started, duration = samples.connection.execute("SELECT start_realtime_ns, duration_ns FROM capture").fetchone() or (
        0,
        0,
    )
    comment = strings[f"perfcase export of {samples.name}"]
    default = strings[samples.event]
    for value in strings:
        yield text(6, value)
    yield number(9, started or 0) + number(10, duration or 0)
    yield number(13, comment) + number(14, default)


def _mappings(samples: Samples, strings: _Strings, used: set[int | None]) -> Iterator[bytes]:
    rows = samples.connection.execute("SELECT dso_id, path, build_id FROM dso ORDER BY dso_id").fetchall()
    for dso_id, path, build_id in rows:
        if dso_id in used:
            # The end is open: an object's frames are at offsets in its file, the kernel's at addresses.
            fields = number(1, dso_id + 1) + number(3, (1 << 64) - 1) + number(5, strings[path])
            # All functions are named here; pprof shall not look for names on its own machine.
            yield message(
                3, fields + number(6, strings[build_id]) + number(7, 1) + number(8, 1) + number(9, 1) + number(10, 1)
            )


def _locations(samples: Samples, strings: _Strings, used: set[int]) -> Iterator[bytes]:
    functions: dict[tuple[str, str | None], int] = {}
    for key in sorted(used):
        frame = samples.frames[key]
        function = functions.setdefault((frame.name, frame.source_file), len(functions) + 1)
        line = number(1, function) + number(2, frame.source_line or 0)
        mapping = number(2, frame.dso_id + 1) if frame.dso_id is not None else b""
        yield message(4, number(1, key + 1) + mapping + number(3, frame.address) + message(4, line))
    for (name, source_file), place in functions.items():
        fields = number(1, place) + number(2, strings[name]) + number(3, strings[name])
        yield message(5, fields + number(4, strings[source_file]))

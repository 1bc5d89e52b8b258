"""pprof: the protocol buffer read by field numbers, and ``go tool pprof`` itself where Go is installed."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from perfcase.export import protobuf
from tests.export.conftest import EVENT, assert_same_functions, functions, paths


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field, value) of a message, by the documented wire format."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, data[at : at + 8]
            at += 8
        else:
            assert key & 7 == 2
            length = varint()
            assert at + length <= len(data)
            yield key >> 3, data[at : at + length]
            at += length


def numbers(data: bytes) -> list[int]:
    """A packed field."""
    return [
        value for _, value in fields(b"".join(b"\x08" + part for part in re.findall(rb"[\x80-\xff]*[\x00-\x7f]", data)))
    ]


def test_the_encoder() -> None:
    # The examples of the encoding's documentation.
    assert protobuf.varint(150) == b"\x96\x01"
    assert protobuf.number(1, 150) == b"\x08\x96\x01"
    assert protobuf.text(2, "testing") == b"\x12\x07testing"
    assert protobuf.varint(-2) == b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    assert protobuf.packed(6, [3, 270, 86942]) == b"\x32\x06\x03\x8e\x02\x9e\xa7\x05"
    assert protobuf.double(1, 1.0) == b"\x09\x00\x00\x00\x00\x00\x00\xf0\x3f"


def test_the_profile(exported: Callable[[str], Path], connection: duckdb.DuckDBPyConnection) -> None:
    top = list(fields(gzip.decompress(exported("pprof").read_bytes())))
    strings = [value.decode() for field, value in top if field == 6]
    assert strings[0] == ""
    assert len(strings) == len(set(strings))
    kinds = [tuple(strings[value] for _, value in fields(value)) for field, value in top if field == 1]
    assert kinds == [("samples", "count"), (EVENT, "nanoseconds")]
    mappings = {dict(fields(value))[1] for field, value in top if field == 3}
    names = {}
    for field, value in top:
        if field == 5:
            entry = dict(fields(value))
            names[entry[1]] = strings[entry[2]]
    locations = {}
    for field, value in top:
        if field == 4:
            entry = dict(fields(value))
            assert entry.get(2) in mappings or 2 not in entry
            locations[entry[1]] = names[dict(fields(entry[4]))[1]]
    ours: Counter[tuple[str, ...]] = Counter()
    counts: Counter[tuple[str, ...]] = Counter()
    for field, value in top:
        if field == 2:
            entry = list(fields(value))
            chain = [locations[place] for place in numbers(dict(entry)[1])]
            labels = {strings[pair[1]]: pair for pair in (dict(fields(part)) for number, part in entry if number == 3)}
            path = (strings[labels["thread"][2]], *reversed(chain))
            count, weight = numbers(dict(entry)[2])
            ours[path] += weight
            counts[path] += count
    assert ours == Counter({path: int(weight) for path, weight in paths(connection).items()})
    assert counts == paths(connection, "count(*)")


@pytest.mark.long("1 min")  # Go builds its pprof for it; test_the_profile reads the same figures
@pytest.mark.skipif(shutil.which("go") is None, reason="Go, which has pprof, is not installed")
@pytest.mark.parametrize(("kind", "index", "unit"), [("period", EVENT, "nanoseconds"), ("count", "samples", "auto")])
def test_go_tool_pprof(
    kind: str, index: str, unit: str, exported: Callable[[str], Path], connection: duckdb.DuckDBPyConnection
) -> None:
    """flat and cum of every function are self and total of function_profile."""
    told = subprocess.run(
        ["go", "tool", "pprof", "-symbolize=none", "-top", f"-sample_index={index}", f"-unit={unit}", "-nodecount=1000000",
         "-nodefraction=0", "-edgefraction=0", exported("pprof")],
        capture_output=True, text=True, check=True, timeout=600,
    ).stdout  # fmt: skip
    rows = re.findall(r"^ *(\d+)(?:ns)? +\S+% +\S+% +(\d+)(?:ns)? +\S+%  (.*)$", told, re.MULTILINE)
    theirs = {name: (int(flat), int(cum)) for flat, cum, name in rows}
    assert_same_functions(theirs, functions(connection, kind))

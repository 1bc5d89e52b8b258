"""The axis of the time line: its marks, how it is moved, and what is asked for to draw it. Run without a browser."""

from __future__ import annotations

import json
import math
import random
import re

from tests.support.scale import scaled
from tests.web.script import run

SPAN = "line/span.ts"
ALL = """
import { askedFor, holding, moved, ticks, zoomed } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
process.stdout.write(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()).map(({ span, end, by, at }) => ({
  asked: askedFor(span, end), zoomed: zoomed(span, by, at, end), moved: moved(span, by - 1, end), holding: holding(span, at, end),
  ticks: ticks(span, 900),
}))));
"""
SCALE = {"d": 86400e9, "h": 3600e9, "min": 60e9, "s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1}


def said_ns(text: str) -> float:
    """Return the moment that a mark says, such as 1 d 3 min."""
    assert re.fullmatch(r"[\d.,]+ \S+( [\d.,]+ \S+)*", text), text
    words = text.split(" ")
    return sum(
        float(number.replace(",", "")) * SCALE[unit] for number, unit in zip(words[::2], words[1::2], strict=True)
    )


def spans(count: int) -> list[dict]:
    """Parts of recordings from a millisecond to a week, from the whole to a microsecond of it."""
    chance = random.Random(20)
    found = []
    for _ in range(count):
        end = round(10 ** chance.uniform(6, 14.8))
        length = min(round(10 ** chance.uniform(3, math.log10(end))), end)
        begin = chance.randint(0, end - length)
        found.append(
            {
                "span": [begin, begin + length],
                "end": end,
                "by": 10 ** chance.uniform(-1, 1),
                "at": chance.randint(0, end),
            }
        )
    return found


def test_the_axis() -> None:
    given = spans(scaled(20_000))
    for one, told in zip(given, run(SPAN, ALL, json.dumps(given)), strict=True):
        (begin, end), whole = one["span"], one["end"]
        length = end - begin
        first, last = told["asked"]
        # All that is seen is asked for, and not much more than that, unless the recording is no longer.
        assert 0 <= first <= begin < end <= last <= whole, one
        assert last - first <= max(4 * length, 4096) or (first, last) == (0, whole), one
        # A step aside of half of the span stays within it, or within the recording.
        for low, high in (told["zoomed"], told["moved"], told["holding"]):
            assert -1e-6 <= low < high <= whole * (1 + 1e-12), one
        assert told["holding"][0] <= one["at"] <= told["holding"][1], one
        assert abs(told["moved"][1] - told["moved"][0] - length) <= 1
        low, high = told["zoomed"]
        assert abs(high - low - min(max(length * one["by"], 1000), whole)) <= 1, one
        marks = told["ticks"]
        assert 2 <= len(marks) <= 25, one
        texts = [mark["text"] for mark in marks]
        assert len(set(texts)) == len(texts), texts
        for mark in marks:
            said = said_ns(mark["text"])
            # What is said is where the mark is: to a hundredth of a step, and of a nanosecond.
            assert abs(said - mark["at"]) <= 0.01 * (marks[1]["at"] - marks[0]["at"]), (one, mark)


def test_marks_of_long_recordings_are_whole_minutes_hours_and_days() -> None:
    given = [
        {"span": [0, seconds * 10**9], "end": seconds * 10**9, "by": 1, "at": 0} for seconds in (604_800, 7200, 300)
    ]
    week, hours, minutes = ([mark["text"] for mark in told["ticks"]] for told in run(SPAN, ALL, json.dumps(given)))
    assert week == ["0 s", "1 d", "2 d", "3 d", "4 d", "5 d", "6 d", "7 d"]
    assert hours == ["0 s", "15 min", "30 min", "45 min", "1 h", "1 h 15 min", "1 h 30 min", "1 h 45 min", "2 h"]
    assert minutes == [
        "0 s",
        "30 s",
        "60 s",
        "90 s",
        "2 min",
        "2 min 30 s",
        "3 min",
        "3 min 30 s",
        "4 min",
        "4 min 30 s",
        "5 min",
    ]


def test_a_moment_under_the_cursor_stays_there() -> None:
    given = [
        one | {"at": round(one["span"][0] + 0.3 * (one["span"][1] - one["span"][0])), "by": 1 / 1.5}
        for one in spans(2000)
    ]
    for one, told in zip(given, run(SPAN, ALL, json.dumps(given)), strict=True):
        (begin, end), (low, high) = one["span"], told["zoomed"]
        if high - low > 1001:
            assert abs((one["at"] - low) / (high - low) - (one["at"] - begin) / (end - begin)) < 1e-3, one


WINDOW = """
import { rounded, seconds, windowText } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
process.stdout.write(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()).map((one) => {
  const text = windowText(one);
  return [text, rounded(one), seconds(text, Infinity)];
})));
"""


def test_a_window_is_read_as_it_was_written() -> None:
    """From the first 100 ns of a recording to a week: what is asked for, and what the page takes the answer to be about."""
    chance = random.Random(21)
    given = [[0, 1e-6], [1e-7, 1.1e-6], [5e-9, 2e-6], [0, 10], [100, 600], [0, 604800]]
    for _ in range(scaled(2000)):
        begin = 10 ** chance.uniform(-9, 5.7)
        given.append([begin, begin + 10 ** chance.uniform(-6, 5)])
    for window, (text, rounded, read) in zip(given, run("line/window.ts", WINDOW, json.dumps(given)), strict=True):
        assert re.fullmatch(r"\d+(\.\d+)?s\.\.\d+(\.\d+)?s", text), text
        assert read == rounded, (window, text)
        assert all(
            math.isclose(one, other, abs_tol=(window[1] - window[0]) / 1000)
            for one, other in zip(rounded, window, strict=True)
        )

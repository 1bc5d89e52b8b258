"""Lanes are decoded into typed arrays: their figures and texts are those of the rows, whatever their order, and a cut answer is an error."""

from __future__ import annotations

import json
import random

from tests.support.scale import scaled
from tests.web.script import run

DECODED = """
import { decoded, buffersOf } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const shape = { lane: "utid", numbers: ["ts_ns", "ratio"], texts: ["name"] };
const of = (text) => {
  try {
    const found = decoded(new TextEncoder().encode(text).buffer, shape);
    // As a worker hands it over.
    const { lanes, firsts, numbers, texts } = structuredClone(found, { transfer: buffersOf(found) });
    return [...lanes].map((lane, at) => [lane, [...numbers.ts_ns.keys()].slice(firsts[at], firsts[at + 1]).map((row) =>
      [numbers.ts_ns[row], numbers.ratio[row], texts.name.words[texts.name.at[row]]])]);
  } catch (error) {
    return String(error);
  }
};
process.stdout.write(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()).map(of)));
"""
NAMES = ("utid", "ts_ns", "ratio", "name")


def answer(rows: list[tuple]) -> str:
    return json.dumps({name: [row[at] for row in rows] for at, name in enumerate(NAMES)})


def lanes(rows: list[tuple]) -> list[list]:
    """The rows of each lane, in their order; NULL is 0."""
    found: dict[int, list] = {}
    for utid, *values, name in rows:
        found.setdefault(utid, []).append([*(value or 0 for value in values), name])
    return [[utid, found[utid]] for utid in sorted(found)]


def test_decoded_lanes_are_the_rows() -> None:
    chance = random.Random(5)
    words = ("futex", "", None, "<b>\u202e\x1f\n", "é" * 300)
    given = []
    for _ in range(scaled(300)):
        rows = [
            (chance.randint(0, 5), chance.choice((0, 1, 2**53 - 1, chance.randint(0, 10**15))), chance.choice((0.1, None, 1.0)), chance.choice(words))
            for _ in range(chance.randint(0, 20))
        ]  # fmt: skip
        # In the order of the views, and in any other.
        given.append(sorted(rows, key=lambda row: row[0]) if chance.random() < 0.7 else rows)
    assert run("line/decode.ts", DECODED, json.dumps([answer(rows) for rows in given])) == [
        lanes(rows) for rows in given
    ]


def test_an_answer_that_is_not_whole_is_an_error() -> None:
    whole = answer([(1, 2, 0.5, "a"), (1, 3, 0.5, "b")])
    uneven = json.dumps({"utid": [1, 1], "ts_ns": [2], "ratio": [0.5, 0.5], "name": ["a", "b"]})
    lacking = json.dumps({"utid": [1], "ts_ns": [2], "name": ["a"]})
    told = run("line/decode.ts", DECODED, json.dumps([whole[:-20], "", uneven, lacking, "{}", whole]))
    assert all("rror" in each for each in told[:4]), told
    assert told[4:] == [[], [[1, [[2, 0.5, "a"], [3, 0.5, "b"]]]]]

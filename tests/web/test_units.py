"""One rounding: the page spells figures as the command line does (perfcase/text.py), to the last digit."""

from __future__ import annotations

import json
import random

from perfcase import text
from tests.web.script import run

UNITS = "parts/units.ts"
SPELLED = """
import * as units from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const asked = JSON.parse(Buffer.concat(chunks).toString());
process.stdout.write(JSON.stringify(asked.map(([name, ...values]) => units[name](...values))));
"""
TIES = (
    0.125,
    0.375,
    1.125,
    12.25,
    12.35,
    122.5,
    123.5,
    1000.5,
    1001.5,
    999.5,
    998.5,
    0.0625,
    0.00009995,
    2.5,
    3.5,
    1e-5,
)
"""Half way between two that could be said, and the edges of the ways to say one."""


def test_figures_are_those_of_the_command_line() -> None:
    chance = random.Random(20)
    values = [0.0, *TIES, *(tie * scale for tie in TIES for scale in (1e3, 1e6, 1e9, 1024, 1024**2))]
    values += [chance.uniform(0, 1) * 10 ** chance.uniform(-8, 15) for _ in range(3000)]
    values += [float(chance.randrange(10**6)) / 16 for _ in range(3000)]
    values += [float(round(value)) for value in values if value < 1e15]
    # Edges of minutes, hours and days, and half way between two that could be said.
    values += [edge * 1e9 + by for edge in (119.5, 120.5, 3599.5, 3600, 172770, 172800, 86400 * 7) for by in (-1, 0, 1)]
    values += [chance.uniform(0, 1) * 10 ** chance.uniform(11, 17) for _ in range(1000)]
    values += [chance.randrange(1, 10**5) * 30e9 for _ in range(1000)]
    values += [-value for value in values if value]
    asked = [(name, value) for name in ("figure", "duration", "size", "count", "ratio") for value in values]
    told = run(UNITS, SPELLED, json.dumps(asked))
    wrong = [
        (name, value, said, getattr(text, name)(value))
        for (name, value), said in zip(asked, told, strict=True)
        if said != getattr(text, name)(value)
    ]
    assert wrong == [], (len(wrong), wrong[:20])


def test_parts_of_a_recording_are_those_of_the_command_line() -> None:
    chance = random.Random(20)
    asked = [("stretch", 0, edge) for edge in (0, 1, 119.5e9, 119.4e9, 120e9, 604_800e9)]
    for _ in range(3000):
        begin = chance.uniform(0, 1) * 10 ** chance.uniform(3, 15)
        asked.append(("stretch", begin, begin + 10 ** chance.uniform(0, 14)))
    told = run(UNITS, SPELLED, json.dumps(asked))
    wrong = [(one, said) for one, said in zip(asked, told, strict=True) if said != text.stretch(*one[1:])]
    assert wrong == [], (len(wrong), wrong[:20])

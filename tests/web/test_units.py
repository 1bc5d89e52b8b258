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
process.stdout.write(JSON.stringify(asked.map(([name, value]) => units[name](value))));
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
    values += [-value for value in values if value]
    asked = [(name, value) for name in ("figure", "duration", "size", "count", "ratio") for value in values]
    told = run(UNITS, SPELLED, json.dumps(asked))
    wrong = [
        (name, value, said, getattr(text, name)(value))
        for (name, value), said in zip(asked, told, strict=True)
        if said != getattr(text, name)(value)
    ]
    assert wrong == [], (len(wrong), wrong[:20])

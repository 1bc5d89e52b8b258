"""The trees that the page makes of a flame graph are the views callers and callees: each path of each function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfcase.case.opening import open_capture
from perfcase.operations import flamegraph
from tests.support.imports import placed
from tests.web.script import run

ROOT = Path(__file__).parents[2]
TREE = "flame/tree.ts"
PATHS = """
import { FlameTree, callees, callers } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const tree = FlameTree.of(JSON.parse(Buffer.concat(chunks).toString()));
const label = tree.kinds.indexOf("label");
const found = [];
const named = new Set(Array.from(tree.name).filter((_, node) => tree.kind[node] !== label));
for (const [direction, of] of Object.entries({ callers, callees })) {
  for (const name of named) {
    const made = of(tree, name);
    const paths = [made.names[name].replaceAll(";", ":")];
    for (let node = 0; node < made.size; node++) {
      // The thread is no function.
      if (node > 0 && made.kind[node] === label) continue;
      if (node > 0) paths[node] = `${paths[made.parent[node]]};${made.label(node).replaceAll(";", ":")}`;
      found.push([direction, made.names[name], made.depth[node], paths[node], made.weight[node], made.self[node]]);
    }
  }
}
process.stdout.write(JSON.stringify(found));
"""


FUNCTIONS = """
import { FlameTree, functions } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const tree = FlameTree.of(JSON.parse(Buffer.concat(chunks).toString()));
const found = functions(tree, 0).map(({ name, self, total }) => [tree.names[name], self, total]);
process.stdout.write(JSON.stringify(found));
"""


@pytest.mark.parametrize("sample", ["x86_64-scheduling/x.perfcase", "d-type-checks/server.perfcase"])
def test_top_functions_are_the_view(sample: str, tmp_path: Path) -> None:
    """All of them. A function that calls itself has the sample once."""
    with open_capture(placed(ROOT / "sample-captures" / sample, tmp_path)) as case:
        text = flamegraph.run(flamegraph.Request(fmt="json"), case).text
        rows = case.connection.execute(
            "SELECT symbol, sum(self_period), sum(total_period) FROM function_profile WHERE event = ? GROUP BY symbol, is_kernel",
            [json.loads(text)["what"]],
        ).fetchall()
    made = run(TREE, FUNCTIONS, text)
    assert len(rows) > 30
    assert sorted(tuple(each) for each in made) == sorted(rows)


@pytest.mark.parametrize("sample", ["x86_64-scheduling/x.perfcase", "d-type-checks/server.perfcase"])
def test_callers_and_callees_are_the_views(sample: str, tmp_path: Path) -> None:
    """All of them, whole. A function that calls itself counts once, as in the views."""
    with open_capture(placed(ROOT / "sample-captures" / sample, tmp_path)) as case:
        text = flamegraph.run(flamegraph.Request(fmt="json"), case).text
        rows = case.connection.execute(
            "SELECT direction, symbol, depth, path, weight, self_weight FROM call_path WHERE event = ?",
            [json.loads(text)["what"]],
        ).fetchall()
    assert json.loads(text)["pruned"]["nodes"] == 0
    made = sorted(tuple(each) for each in run(TREE, PATHS, text))
    assert len(rows) > 500
    assert made == sorted(rows)

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


UPSIDE_DOWN = """
import { FlameTree, callees, callers, functions } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const [up, down] = JSON.parse(Buffer.concat(chunks).toString()).map((doc) => FlameTree.of(doc));
const paths = (tree) => {
  const found = [tree.label(0)];
  for (let node = 1; node < tree.size; node++) found[node] = `${found[tree.parent[node]]};${tree.label(node)}`;
  return found.map((path, node) => `${path} ${tree.weight[node]}`).sort();
};
const found = functions(up, 0).map(({ name }) => up.names[name]);
const neighbours = (make, tree, name) => paths(make(tree, tree.names.indexOf(name)));
const parts = (tree) => functions(tree, 0).map(({ name, self, total }) => [tree.names[name], self, total]);
process.stdout.write(JSON.stringify([
  [parts(up), found.map((name) => [neighbours(callers, up, name), neighbours(callees, up, name)])],
  [parts(down), found.map((name) => [neighbours(callees, down, name), neighbours(callers, down, name)])],
]));
"""


def test_upside_down_the_functions_and_their_neighbours_are_the_same(tmp_path: Path) -> None:
    """All of them: what was counted in each, its callers and its callees."""
    with open_capture(placed(ROOT / "sample-captures" / "x86_64-scheduling" / "x.perfcase", tmp_path)) as case:
        texts = [flamegraph.run(flamegraph.Request(fmt="json", invert=invert), case).text for invert in (False, True)]
    (parts, neighbours), (parts_down, neighbours_down) = run(TREE, UPSIDE_DOWN, f"[{','.join(texts)}]")
    assert len(parts) > 100
    assert sorted(parts_down) == sorted(parts)
    assert neighbours_down == neighbours


PLACES = """
import { FlameTree, callees, callers, functions } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const tree = FlameTree.of(JSON.parse(Buffer.concat(chunks).toString()));
const found = [];
for (const { name } of functions(tree, 0)) {
  const made = callees(tree, name);
  for (const node of made.callees(0)) found.push([tree.names[name], made.label(node), made.where(node)]);
}
process.stdout.write(JSON.stringify(found));
"""


def test_callees_say_where_they_are(tmp_path: Path) -> None:
    """The object and a line where as much was counted as in any; that there is one more place, and never one that has less."""
    file = ROOT / "tests" / "data" / "symbols" / "cxx-inlined.perfcase"
    with open_capture(placed(file, tmp_path)) as case:
        text = flamegraph.run(flamegraph.Request(fmt="json"), case).text
        rows = case.connection.execute(
            "WITH step AS ("
            " SELECT s.sample_id, s.period, e.position, l.label, l.dso, f.source_file || ':' || f.source_line AS line"
            " FROM sample AS s JOIN stack_entry AS e USING (stack_id) JOIN frame_label AS l ON l.frame_id = e.frame_id"
            " JOIN frame AS f ON f.frame_id = e.frame_id"
            "), outer_most AS (SELECT sample_id, label, max(position) AS position FROM step GROUP BY ALL)"
            " SELECT o.label, c.label, c.dso, c.line, sum(c.period) FROM outer_most AS o"
            " JOIN step AS c ON c.sample_id = o.sample_id AND c.position = o.position - 1 GROUP BY ALL"
        ).fetchall()
    weights: dict[tuple[str, str], dict[str, int]] = {}
    for caller, callee, dso, line, period in rows:
        weights.setdefault((caller, callee), {})[", ".join(filter(None, (dso, line)))] = period
    told = run(TREE, PLACES, text)
    assert {(caller, callee) for caller, callee, _ in told} == set(weights)
    lines = 0
    for caller, callee, where in told:
        known = weights[caller, callee]
        place, _, more = where.partition(" (most of ")
        assert bool(more) == (len(known) > 1)
        # Where its paths do not agree, the object is all that is said.
        assert place in known or (more and place in {each.partition(", ")[0] for each in known})
        if place in known:
            assert known[place] == max(known.values())
            lines += ", " in place
    assert lines > 10


MERGED = """
import { FlameTree, callees } from "FILE";
const made = (object, source, places) => callees(FlameTree.of({
  names: ["all", "t", "u", "p", "f"], kinds: ["user"], objects: ["x", "y"], sources: ["l:1", "l:2"], is_inverted: false,
  parent: [-1, 0, 1, 2, 0, 4, 5], name: [0, 1, 3, 4, 2, 3, 4], kind: [0, 0, 0, 0, 0, 0, 0], weight: [9, 5, 5, 5, 4, 4, 4],
  self: [0, 0, 0, 5, 0, 0, 4], object, source, places,
}), 3).where(1);
const [at, one] = [(a, b) => [-1, -1, 0, a, -1, 0, b], [0, 1, 1, 1, 1, 1, 1]];
process.stdout.write(JSON.stringify([
  made(at(0, 0), at(0, 0), []), made(at(0, 0), at(0, 1), one), made(at(0, 1), at(0, 0), one), made(at(0, 0), [], []),
  made(at(0, 0), at(0, 0), [0, 1, 1, 1, 1, 1, 3]), made(at(0, 1), [], []), made(at(0, 0), [], [0, 1, 1, 2, 1, 1, 1]),
]));
"""


def test_frames_that_are_one_say_what_they_agree_on() -> None:
    """A function of two callers: in one place, on two lines, in two objects, without lines; with other places beside the heaviest."""
    assert run(TREE, MERGED) == [
        "x, l:1", "x (most of several places)", "", "x", "x, l:1 (most of several places)", "", "x (most of several places)",
    ]  # fmt: skip

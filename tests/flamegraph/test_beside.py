"""What stands beside a flame graph, of whole callchains: where its tree lacks what is too small to be seen, each figure is still the view's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfcase.case.opening import Opened, open_capture
from perfcase.operations import flamegraph
from perfcase.stacks import beside
from perfcase.stacks import tree as stack_tree
from perfcase.stacks.fetching import sample_stacks
from perfcase.stacks.shaping import Shaped, Shaping
from perfcase.stacks.tree import Frame, Tree
from tests.support.cli import fail, succeed
from tests.support.imports import placed
from tests.web.script import run

ROOT = Path(__file__).parents[2]
FILES = {"x86_64": "x86_64-scheduling/x", "types": "d-type-checks/server"}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {
        name: placed(ROOT / "sample-captures" / f"{file}.perfcase", tmp_path_factory.mktemp(name))
        for name, file in FILES.items()
    }


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree has only what is a hundredth of all."""
    monkeypatch.setattr(stack_tree, "RATIO_MIN", 0.01)
    monkeypatch.setattr(beside, "TOP_MAX", 10**9)


def asked(case: Path, **fields: object) -> dict:
    with open_capture(case) as opened:
        return json.loads(flamegraph.run(flamegraph.Request(**fields), opened).text)


def tree_of(case: Opened, event: str, *, is_inverted: bool) -> Tree:
    """The whole tree, to be asked many times."""
    return Tree(Shaped(sample_stacks(case.connection, event), Shaping(is_inverted=is_inverted)))


def rows(case: Path, sql: str, *values: object) -> list[tuple]:
    with open_capture(case) as opened:
        return sorted(opened.connection.execute(sql, values).fetchall())


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("invert", [False, True])
def test_functions_are_the_view_where_the_tree_is_cut(name: str, invert: bool, cases: dict[str, Path]) -> None:
    """All of them, with all that was counted."""
    tree = asked(cases[name], fmt="json", invert=invert)
    assert tree["pruned"]["nodes"] > 20
    found = asked(cases[name], fmt="functions", invert=invert)
    expected = rows(
        cases[name],
        "SELECT symbol, sum(self_period)::BIGINT, sum(total_period)::BIGINT FROM function_profile WHERE event = ? GROUP BY symbol, is_kernel",
        tree["what"],
    )
    assert sorted(zip(found["names"], found["self"], found["total"], strict=True)) == expected
    assert found["counts"]["total"] == len(expected)
    assert found["weight"] == tree["weight"][0]
    # A search: of all callchains that have such a frame.
    for text in ("sched", "SYSCALL", "type", "no such name"):
        searched = asked(cases[name], fmt="functions", find=text, invert=invert)
        ((weight,),) = rows(
            cases[name],
            "SELECT coalesce(sum(s.period), 0)::BIGINT FROM sample AS s JOIN perf_event AS v USING (event_id) LEFT JOIN thread AS t USING (utid)"
            " LEFT JOIN thread_name AS n ON n.name_id = s.name_id JOIN stack_folded AS f USING (stack_id)"
            " WHERE v.name = ? AND contains(lower(concat_ws(chr(10), coalesce(n.comm, t.comm), array_to_string(f.labels, chr(10)))), ?)",
            tree["what"],
            text.lower(),
        )
        assert searched["found"] == weight
        assert searched["names"] == [one for one in searched["names"] if text.lower() in one.lower()]
        assert sorted(searched["names"]) == [row[0] for row in expected if text.lower() in row[0].lower()]


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("invert", [False, True])
def test_neighbours_are_the_views_where_the_tree_is_cut(name: str, invert: bool, cases: dict[str, Path]) -> None:
    """Who calls each function and what it calls, of a hundredth of it and more: every path with its weight and what was counted in itself."""
    tree = asked(cases[name], fmt="json", invert=invert)
    told: list[tuple] = []
    expected: list[tuple] = []
    with open_capture(cases[name]) as opened:
        whole = tree_of(opened, tree["what"], is_inverted=invert)
        names = opened.connection.execute(
            "SELECT symbol, sum(self_period)::BIGINT FROM function_profile WHERE event = ? GROUP BY symbol ORDER BY symbol",
            [tree["what"]],
        ).fetchall()
        for function, own in names:
            found = beside.neighbours(whole, function, is_inverted=invert)
            assert found["self"] == own
            for direction in ("callers", "callees"):
                told += paths(direction, found[direction], by_self=not invert)
        view = opened.connection.execute(
            "SELECT direction, symbol, depth, path, weight, self_weight FROM call_path WHERE event = ?", [tree["what"]]
        ).fetchall()
    roots = {row[:2]: row[4] for row in view if row[2] == 0}
    expected = [row if not invert else row[:5] for row in view if row[4] >= 0.01 * roots[row[:2]]]
    assert len(expected) < len(view)
    assert sorted(told) == sorted(expected)
    missing = {one for one, _ in names} - set(tree["names"])
    assert missing, "the cut tree has every function"


def paths(direction: str, doc: dict, *, by_self: bool) -> list[tuple]:
    """The rows of call_path, without the threads. Upside down what was counted in a function itself stands at another end."""
    names = [doc["names"][n].replace(";", ":") for n in doc["name"]]
    found, told, depths = [], [], []
    for node, parent in enumerate(doc["parent"]):
        told.append(names[node] if parent < 0 else f"{told[parent]};{names[node]}")
        depths.append(0 if parent < 0 else depths[parent] + 1)
        if node and doc["kinds"][doc["kind"][node]] == "label":
            continue
        row = (direction, names[0], depths[node], told[node], doc["weight"][node])
        found.append((*row, doc["self"][node]) if by_self else row)
    return found


HERE = """
import { beside, FlameTree } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const [doc, asked] = JSON.parse(Buffer.concat(chunks).toString());
const tree = FlameTree.of(doc);
process.stdout.write(JSON.stringify(asked.map(([node, find]) => beside(tree, node, find))));
"""


def nothing_left_out(name: str, cases: dict[str, Path], **fields: object) -> tuple[dict, list[tuple[int, str]]]:
    doc = asked(cases[name], fmt="json", **fields)
    assert doc["pruned"]["nodes"] == 0
    nodes = range(0, len(doc["parent"]), max(1, len(doc["parent"]) // 40))
    return doc, [(node, find) for node in nodes for find in ("", "sched", "e")]


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_the_page_works_out_the_same_of_a_whole_tree(name: str, invert: bool, cases: dict[str, Path]) -> None:
    """For each node and each search: the functions, in order, their number by each measure, and what is found."""
    doc, questions = nothing_left_out(name, cases, invert=invert)
    here = run("flame/tree.ts", HERE, json.dumps([doc, questions]))
    with open_capture(cases[name]) as opened:
        whole = tree_of(opened, doc["what"], is_inverted=invert)
    for (node, find), found in zip(questions, here, strict=True):
        told = beside.functions(whole, node, find, is_inverted=invert)
        # Which kind a name has that has several only says its colour.
        assert {**told, "kinds": []} == {**found, "kinds": []}


def test_by_hand() -> None:
    """Recursion counts once, a function of the kernel is another one, threads are found but are no functions, of two captures."""
    read = Frame("read", "kernel", "[kernel]")
    stacks = [
        ((Frame("t", "label"), "f", "g", "f"), 10),
        ((Frame("t", "label"), "f", "read", read), 5),
        ((Frame("u", "label"), "g"), 1),
    ]
    tree = Tree(stacks, [((Frame("t", "label"), "f"), 4)])
    told = beside.functions(tree, 0, "")
    listed = sorted(zip(*(told[each] for each in ("names", "kinds", "self", "total", "base")), strict=True))
    assert listed == [
        ("f", "user", 10, 15, 4), ("g", "user", 1, 11, 0), ("read", "kernel", 5, 5, 0), ("read", "user", 0, 5, 0),
    ]  # fmt: skip
    assert told["counts"] == {"self": 3, "total": 4, "change": 4}
    assert beside.functions(tree, 0, "T")["found"] == 15
    assert beside.functions(tree, 0, "r")["found"] == 5
    around = beside.neighbours(tree, "f")
    assert (around["self"], around["callers"]["weight"][0], around["callers"]["base"][0]) == (10, 15, 4)
    below = around["callees"]
    assert [(below["names"][n], weight) for n, weight in zip(below["name"], below["weight"], strict=True)] == [
        ("f", 15), ("g", 10), ("f", 10), ("read", 5),
        ("read", 5),
    ]  # fmt: skip
    nobody = beside.neighbours(tree, "all")
    assert nobody["callees"]["weight"] == [0]


def test_wrong_questions(cases: dict[str, Path]) -> None:
    case = cases["types"]
    assert fail(6, "flamegraph", case, "-f", "functions", "--node", "99999999", "-o", "-").startswith(
        "the tree has no node"
    )
    assert fail(2, "flamegraph", case, "-f", "functions", "--node", "-1", "-o", "-")
    told = json.loads(succeed("flamegraph", case, "-f", "neighbours", "--of", "no such", "-o", "-"))
    assert told["callers"]["weight"] == [0]
    both = json.loads(succeed("flamegraph", case, "-f", "functions", "-o", "-"))
    assert len(both["names"]) >= 25

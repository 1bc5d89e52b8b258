"""Stacks that are left out, libraries and recursion as one frame, the leaf at the root: each node of each tree, worked out from all
stacks by another way."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from perfcase.case.opening import open_capture
from perfcase.operations import diff_flamegraph, flamegraph
from perfcase.operations.result import Text
from perfcase.stacks import shaping
from perfcase.stacks import tree as stack_tree
from perfcase.stacks.shaping import Shaped, Shaping, merged
from perfcase.stacks.tree import Frame, tree
from perfcase.text import duration, ratio
from tests.support.cli import fail, succeed
from tests.support.imports import placed

ROOT = Path(__file__).parents[2]
FILES = {"x86_64": "x86_64-scheduling/x", "tcp": "d-nagle/tcp", "pipe": "d-nagle/pipe"}
Draw = Callable[..., dict]
Steps = list[tuple[str, str]]
"""Names and objects, root first."""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    samples = {name: ROOT / "sample-captures" / f"{file}.perfcase" for name, file in FILES.items()}
    samples["lines"] = ROOT / "tests" / "data" / "symbols" / "cxx-inlined.perfcase"
    return {name: placed(file, tmp_path_factory.mktemp(name)) for name, file in samples.items()}


def paths(doc: dict) -> Iterator[Steps]:
    """The path of each node, with the objects."""
    found: list[Steps] = []
    for node, parent in enumerate(doc["parent"]):
        here = doc["object"][node]
        step = (doc["names"][doc["name"][node]], doc["objects"][here] if here >= 0 else "")
        found.append([*found[parent], step] if parent >= 0 else [])
    yield from found


def stacks(doc: dict) -> list[tuple[Steps, float, float]]:
    """All stacks of a graph in which nothing is done, with both weights."""
    assert doc["places"] == []
    sides = doc["self"], doc.get("base_self", [0] * len(doc["self"]))
    return [(path, a, b) for path, a, b in zip(paths(doc), *sides, strict=True) if a or b]


def nodes(doc: dict) -> dict[tuple[str, ...], tuple[float, float]]:
    """The weights of each path; where the kernel and a library have a function of one name, of both together."""
    found: defaultdict[tuple[str, ...], list[float]] = defaultdict(lambda: [0, 0])
    for path, a, b in zip(paths(doc), doc["weight"], doc.get("base", [0] * len(doc["weight"])), strict=True):
        both = found[tuple(name for name, _ in path)]
        both[0] += a
        both[1] += b
    return {path: (a, b) for path, (a, b) in found.items()}


def added(found: Sequence[tuple[Steps, float, float]]) -> dict[tuple[str, ...], tuple[float, float]]:
    """The same of stacks: each prefix with all that begins so."""
    weights: defaultdict[tuple[str, ...], list[float]] = defaultdict(lambda: [0, 0])
    for path, a, b in found:
        for length in range(len(path) + 1):
            both = weights[tuple(name for name, _ in path[:length])]
            both[0] += a
            both[1] += b
    weights[()] = weights[()]
    return {path: (a, b) for path, (a, b) in weights.items()}


def without_repeats(path: Steps) -> Steps:
    """As it is defined, word by word."""
    found: Steps = []
    for step in path:
        found.append(step)
        for length in range(1, len(found) // 2 + 1):
            if found[-length:] == found[-2 * length : -length]:
                del found[-length:]
                break
    return found


def as_one(path: Steps, objects: set[str]) -> Steps:
    """Each run of frames in one of the objects as one."""
    found: Steps = []
    for name, dso in path:
        whole = (f"[{dso.strip('[]')}]", dso)
        if dso not in objects:
            found.append((name, dso))
        elif not found or found[-1] != whole:
            found.append(whole)
    return found


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


COUNTED = {"samples": {}, "waits": {"off_cpu": True}, "wakers": {"off_cpu": True, "wakers": True}}


@pytest.fixture(scope="module", params=[*COUNTED, "compared"])
def draw(
    request: pytest.FixtureRequest, cases: dict[str, Path], monkeypatch_module: pytest.MonkeyPatch
) -> Iterator[Draw]:
    """What draws a graph with options."""

    # Else all stacks could not be worked out from a graph: what is too small to be seen is missing.
    monkeypatch_module.setattr(stack_tree, "RATIO_MIN", 0)

    known: dict[str, dict] = {}

    def told(answer: Callable[..., Text], more: dict) -> dict:
        doc = known.get(repr(more))
        if doc is None:
            doc = known[repr(more)] = json.loads(answer(**more).text)
        assert doc["pruned"]["nodes"] == 0
        return doc

    if request.param == "compared":
        with open_capture(cases["tcp"]) as a, open_capture(cases["pipe"]) as b:

            def compare(**more: object) -> Text:
                return diff_flamegraph.run(diff_flamegraph.Request(fmt="json", **more), a, b)

            yield lambda **more: told(compare, more)
    else:
        with open_capture(cases["x86_64"]) as case:

            def count(**more: object) -> Text:
                return flamegraph.run(flamegraph.Request(fmt="json", **COUNTED[request.param], **more), case)

            yield lambda **more: told(count, more)


def most(found: Sequence[tuple[Steps, float, float]], number: int) -> list[str]:
    """Names of functions that are in many stacks, but not in all."""
    counted = Counter(name for path, *_ in found for name in {name for name, dso in path if dso})
    return [name for name, times in counted.most_common() if times < len(found)][:number]


def test_stacks_are_left_out(draw: Draw) -> None:
    found = stacks(draw())
    first, second, third = most(found, 3)
    for include, exclude in (
        ([first], []),
        ([], [first]),
        ([first, second], []),
        ([first], [second, third]),
        (["no"], []),
    ):
        kept = [
            (path, a, b)
            for path, a, b in found
            if {name for name, _ in path} >= set(include) and not {name for name, _ in path} & set(exclude)
        ]
        doc = draw(include=include, exclude=exclude)
        assert nodes(doc) == added(kept)
        # What is left out and what is there are all.
        for side in ("weight", "base") if "base" in doc else ("weight",):
            assert sum(each[side] for each in doc["stacks_left_out"]) + doc[side][0] == draw()[side][0]
        told = [(each["how"], each["name"]) for each in doc["stacks_left_out"]]
        assert told == [("include", name) for name in include] + [("exclude", name) for name in exclude]
    lacks_first = sum(a for path, a, _ in found if first not in {name for name, _ in path})
    assert draw(include=[first, second])["stacks_left_out"][0]["weight"] == lacks_first


def test_objects_are_one_frame(draw: Draw) -> None:
    found = stacks(draw())
    objects = [dso for dso, _ in Counter(dso for path, *_ in found for _, dso in path if dso).most_common(2)]
    for collapse in (objects[:1], objects[1:], objects):
        doc = draw(collapse=collapse)
        made = [(as_one(path, set(collapse)), a, b) for path, a, b in found]
        assert nodes(doc) == added(made)
        assert len(doc["parent"]) < len(draw()["parent"])
        kinds = {doc["names"][doc["name"][n]] for n, kind in enumerate(doc["kind"]) if doc["kinds"][kind] == "object"}
        assert kinds == {f"[{dso.strip('[]')}]" for dso in collapse}
    # What is one frame now can still be asked for, by its name and by those of its functions.
    name = next(name for path, *_ in found for name, dso in path if dso == objects[0])
    for wanted in (f"[{objects[0].strip('[]')}]", name):
        kept = [
            (as_one(path, {objects[0]}), a, b)
            for path, a, b in found
            if any(
                step[0] == wanted or ((dso := step[1]) == objects[0] and wanted == f"[{dso.strip('[]')}]")
                for step in path
            )
        ]
        assert nodes(draw(collapse=objects[:1], include=[wanted])) == added(kept)


def test_the_leaf_is_at_the_root(draw: Draw) -> None:
    found = stacks(draw())
    doc = draw(invert=True)
    assert doc["is_inverted"]
    assert nodes(doc) == added([(path[::-1], a, b) for path, a, b in found])


def test_recursion_is_one_frame(draw: Draw) -> None:
    """With library frames as one there is much more that repeats."""
    found = stacks(draw())
    assert nodes(draw(merge_recursion=True)) == added([(without_repeats(path), a, b) for path, a, b in found])
    for dso, _ in Counter(dso for path, *_ in found for _, dso in path if dso).most_common(3):
        both = [(without_repeats(as_one(path, {dso})), a, b) for path, a, b in found]
        assert nodes(draw(collapse=[dso], merge_recursion=True)) == added(both)


def test_what_repeats() -> None:
    """All words of three letters up to nine long: as it is defined, none of their functions lost, the last one still the last."""
    shorter = 0
    for length in range(10):
        for letters in itertools.product("abc", repeat=length):
            path = [(letter, "") for letter in letters]
            frames = [Frame(letter) for letter in letters]
            found = [(frame.name, frame.dso) for frame in merged(frames)]
            assert found == without_repeats(path)
            assert set(found) == set(path)
            assert found[-1:] == path[-1:]
            shorter += len(found) < length
    assert shorter > 25_000
    assert [frame.name for frame in merged([Frame(each) for each in ("main", *"fgfgfg", "leaf")])] == [
        "main",
        "f",
        "g",
        "leaf",
    ]
    # The kernel's function is another one than the library's of the same name.
    assert len(merged([Frame("read", "user", "libc.so.6"), Frame("read", "kernel", "[kernel]")])) == 2


DEEP = 10_000


def deep() -> dict[str, tuple[str, int]]:
    """Callchains of 10,000 frames: one function, two in turn, a word that repeats nowhere and so has all its frames, one whose repeats
    are as long as half of it."""
    word = "a"
    while len(word) < DEEP:
        word = "".join({"a": "abc", "b": "ac", "c": "b"}[letter] for letter in word)
    half = word[: DEEP // 2]
    return {
        "one": ("a" * DEEP, 1),
        "two": ("ab" * (DEEP // 2), 2),
        "none": (word[:DEEP], DEEP),
        "half": (half + half, DEEP // 2),
    }


@pytest.mark.parametrize("name", deep())
def test_merging_takes_as_many_steps_as_there_are_frames(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not their square, which is 100 million: places that are looked at are counted, as is each step that is added and dropped."""
    made: list[shaping._Words] = []
    work: Counter[str] = Counter()

    class Counted(shaping._Words):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

        def append(self, step: object) -> None:
            work["added"] += 1
            super().append(step)

        def drop(self, count: int) -> None:
            work["dropped"] += count
            super().drop(count)

    monkeypatch.setattr(shaping, "_Words", Counted)
    letters, length = deep()[name]
    assert len(merged([Frame(letter) for letter in letters])) == length
    (words,) = made
    assert work["added"] == DEEP
    assert work["dropped"] == DEEP - length
    assert words.looks <= DEEP * DEEP.bit_length()


def test_the_view_says_the_same_of_samples(cases: dict[str, Path]) -> None:
    """Merged, and without the kernel's stacks: from stack_folded."""
    with open_capture(cases["x86_64"]) as case:
        doc = json.loads(
            flamegraph.run(flamegraph.Request(fmt="json", merge_recursion=True, exclude=("schedule",)), case).text
        )
        rows = case.connection.execute(
            "SELECT coalesce(n.comm, t.comm, '[unknown]'), f.labels, sum(s.period)::BIGINT FROM sample AS s JOIN perf_event AS v USING (event_id)"
            " LEFT JOIN thread AS t USING (utid) LEFT JOIN thread_name AS n ON n.name_id = s.name_id JOIN stack_folded AS f USING (stack_id)"
            " WHERE v.name = ? GROUP BY ALL",
            [doc["what"]],
        ).fetchall()
    kept = [(comm, labels, weight) for comm, labels, weight in rows if "schedule" not in labels]
    assert 50 < len(kept) < len(rows)
    made = [
        ([(comm, "label"), *without_repeats([(name, "") for name in labels])], weight, 0)
        for comm, labels, weight in kept
    ]
    assert nodes(doc) == added(made)
    assert doc["stacks_left_out"][0]["weight"] == sum(row[2] for row in rows) - sum(row[2] for row in kept)


def test_nodes_say_object_and_line(cases: dict[str, Path]) -> None:
    """Where most of each was counted, and in how many places."""
    with open_capture(cases["lines"]) as case:
        doc = json.loads(flamegraph.run(flamegraph.Request(fmt="json"), case).text)
        rows = case.connection.execute(
            "SELECT coalesce(n.comm, t.comm), list((l.label, l.dso, f.source_file || ':' || f.source_line) ORDER BY e.position DESC),"
            " any_value(s.period) FROM sample AS s JOIN perf_event AS v USING (event_id) JOIN thread AS t USING (utid)"
            " LEFT JOIN thread_name AS n ON n.name_id = s.name_id JOIN stack_entry AS e USING (stack_id) JOIN frame_label AS l ON l.frame_id = e.frame_id"
            " JOIN frame AS f ON f.frame_id = e.frame_id WHERE v.name = ? GROUP BY s.sample_id, coalesce(n.comm, t.comm)",
            [doc["what"]],
        ).fetchall()
    weights: defaultdict[tuple[str, ...], Counter] = defaultdict(Counter)
    for comm, frames, period in rows:
        path: tuple[str, ...] = (comm,)
        for name, dso, source in frames:
            path = (*path, name)
            weights[path][dso, source or ""] += period
    several = 0
    for node, path in enumerate(paths(doc)):
        names = tuple(name for name, _ in path)
        dso, source = (doc[one + "s"][doc[one][node]] if doc[one][node] >= 0 else "" for one in ("object", "source"))
        expected = weights.get(names)
        if not expected:
            assert (dso, source, doc["places"][node]) == ("", "", 0)
            continue
        assert expected[dso, source] == max(expected.values())
        assert doc["places"][node] == len(expected)
        several += len(expected) > 1
    assert several >= 3
    assert len(doc["sources"]) > 10
    assert any(source.endswith("names.cpp:25") for source in doc["sources"])


def test_the_commands(cases: dict[str, Path]) -> None:
    given = [
        "--include",
        "do_syscall_64",
        "--exclude",
        "schedule",
        "--collapse",
        "libc.so.6",
        "--merge-recursion",
        "--invert",
    ]
    told = succeed("flamegraph", cases["x86_64"], *given, "--format", "json", "-o", "-")
    asked = flamegraph.Request(
        include=("do_syscall_64",), exclude=("schedule",), collapse=("libc.so.6",), merge_recursion=True, invert=True, fmt="json"
    )  # fmt: skip
    with open_capture(cases["x86_64"]) as case:
        assert told == flamegraph.run(asked, case).text
    doc = json.loads(told)
    words = "only stacks with do_syscall_64, without stacks with schedule, libc.so.6 as one frame, recursion merged, inverted"
    assert doc["title"].endswith(words)
    picture = succeed("flamegraph", cases["x86_64"], *given, "-o", "-")
    whole = doc["weight"][0] + sum(each["weight"] for each in doc["stacks_left_out"])
    for reason, each in zip(("without do_syscall_64", "with schedule"), doc["stacks_left_out"], strict=True):
        assert f"Stacks {reason} are left out: {duration(each['weight'])} ({ratio(each['weight'] / whole)})" in picture
    assert words in picture


def test_hostile_names() -> None:
    """As the tree spells them, so that a link finds them; in a title they are escaped."""
    name = "<b>\x1b[31m"
    shaped = Shaped(
        [((Frame("main"), Frame(name, "user", "a\nb")), 2), ((Frame("main"),), 1)], Shaping(include=("<b>\\e[31m",))
    )
    assert tree(shaped)["weight"] == [2, 2, 2]
    assert shaped.listed() == [{"how": "include", "name": "<b>\\e[31m", "weight": 1}]
    whole = tree(Shaped([((Frame(name, "user", "a"),), 1)], Shaping(collapse=frozenset(["a"]))))
    assert whole["names"] == ["all", "[a]"]


def test_a_comparison_takes_the_same_options(cases: dict[str, Path]) -> None:
    """On the command line, as its operation has them: each of them changes the tree."""
    both = [cases["tcp"], cases["pipe"], "--format", "json"]
    given = {
        "include": ("--include", "do_syscall_64"),
        "exclude": ("--exclude", "schedule"),
        "collapse": ("--collapse", "libc.so.6"),
        "merge_recursion": ("--merge-recursion",),
        "invert": ("--invert",),
    }
    plainly = json.loads(succeed("diff", *both, "--flamegraph", "-"))
    with open_capture(cases["tcp"]) as a, open_capture(cases["pipe"]) as b:
        for name, words in given.items():
            value = (words[1],) if len(words) > 1 else True
            expected = diff_flamegraph.run(diff_flamegraph.Request(**{name: value}, fmt="json"), a, b).text
            assert succeed("diff", *both, *words, "--flamegraph", "-") == expected
            assert json.loads(expected)["title"] != plainly["title"]
            assert fail(2, "diff", *both, *words) == f"{words[0]} needs --flamegraph"
    whole = [word for words in given.values() for word in words]
    picture = succeed("diff", cases["tcp"], cases["pipe"], *whole, "--flamegraph", "-")
    assert (
        "only stacks with do_syscall_64, without stacks with schedule, libc.so.6 as one frame, recursion merged, inverted"
        in picture
    )

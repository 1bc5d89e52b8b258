"""Describe responses for OpenAPI, from the columns and records of the operations."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from perfcase.catalogue.schema import schema_dir
from perfcase.catalogue.views import load_views
from perfcase.diff import page, stack_page
from perfcase.diff.comparable import Condition, Setting
from perfcase.diff.fired import Change
from perfcase.diff.rank import NotCompared
from perfcase.fleet import scan, timeline
from perfcase.operations import annotate
from perfcase_api.asking import MEDIA, READS

Shape = dict[str, Any]

_FORMS: dict[str, Shape] = {
    "json": {"type": "object"},
    "csv": {"type": "string", "description": "One line for each row. The first line names the columns."},
    "arrow": {"type": "string", "format": "binary"},
    "parquet": {"type": "string", "format": "binary"},
    "text": {"type": "string"},
    "svg": {"type": "string"},
    "html": {"type": "string"},
    "md": {"type": "string"},
    "binary": {"type": "string", "format": "binary"},
    "tar": {"type": "string", "format": "binary"},
    "events": {"type": "string"},
}
_TYPES = {
    "VARCHAR": "string", "VARCHAR[]": "array", "DOUBLE": "number", "BOOLEAN": "boolean", "INTEGER": "integer",
    "UINTEGER": "integer", "BIGINT": "integer",
}  # fmt: skip
_TEXT: Shape = {"type": "string"}
_NULL: Shape = {"type": "null"}
_TEXTS: Shape = {"type": "array", "items": _TEXT}
_NUMBERS: Shape = {"type": "array", "items": {"type": "number"}}


def answers(
    *kinds: str, json: Shape | None = None, description: str = "The output of the command line."
) -> dict[int | str, dict[str, Any]]:
    """Return the formats of a response, the default first; ``json``: the schema of its JSON."""
    shapes = {MEDIA[kind]: {"schema": json if kind == "json" and json else _FORMS[kind]} for kind in kinds}
    return {200: {"description": description, "content": shapes}}


def table(rows: Shape | None = None) -> dict[int | str, dict[str, Any]]:
    """Return the schema of rows, in each format."""
    return answers("json", "csv", "arrow", "parquet", json=rows or rows_of())


def by_column() -> Shape:
    """Return the schema of rows, or, with format=columns, of the columns."""
    columns = {
        "type": "object",
        "description": "With format=columns: a list for each column.",
        "additionalProperties": {"type": "array"},
    }
    return _one_of([rows_of(), columns])


def counted(rows: Shape) -> dict[int | str, dict[str, Any]]:
    """Return the schema of the rows of a query of which it is known what it read."""
    described = table(rows)
    described[200]["headers"] = {
        READS: {
            "schema": {"type": "integer"},
            "description": "Bytes of the tables' files that were read for this answer: 0 for one that was kept. A long answer does not have it.",
        }
    }
    return described


def rows_of(*required: str) -> Shape:
    """Return the schema of rows with unknown columns: the result of a query."""
    return {
        "type": "array",
        "items": {
            "type": "object",
            "required": list(required),
            "properties": dict.fromkeys(required, _TEXT),
            "description": "A value for each column; unknown is null.",
        },
    }


def rows_of_view(*views: str) -> Shape:
    """Return the schema of the rows of one of these views."""
    return {
        "type": "array",
        "items": _one_of(
            _record({column.name: {"description": column.description} for column in load_views()[view].columns}, view)
            for view in views
        ),
    }


def info() -> Shape:
    """Return the schema of the description of a capture."""
    sources = {
        "type": "array",
        "items": {"type": "object", "required": ["name", "status"], "properties": {"name": _TEXT, "status": _TEXT}},
    }
    facts = {"type": "object", "additionalProperties": {"type": "string"}}
    return _record({"facts": facts, "sources": sources}, "info")


def report() -> Shape:
    """Return the schema of a report: ``schema/report.schema.json``."""
    schema = json.loads((schema_dir() / "report.schema.json").read_text(encoding="utf-8"))
    del schema["$schema"]
    return {**schema, "title": "report"}


def flame_graph(*, of_both: bool = False) -> Shape:
    """Return the schema of a flame graph as JSON: its tree, functions of it, or the neighbours of one."""
    number, whole = {"type": "number"}, {"type": "integer"}
    functions = {
        "weight": number, "found": number, "has_self": {"type": "boolean"},
        "counts": _record({"self": whole, "total": whole, "change": whole}, "counts"),
        "names": _TEXTS, "kinds": _TEXTS, "self": _NUMBERS, "total": _NUMBERS, "base": _NUMBERS,
    }  # fmt: skip
    lists = _lists("self", "base", "base_self")
    paths = _record(lists, "paths", [name for name in lists if not name.startswith("base")])
    neighbours = {"name": _TEXT, "self": {"type": "number"}, "callers": paths, "callees": paths}
    return _one_of([tree(of_both=of_both), _record(functions, "functions"), _record(neighbours, "neighbours")])


def _lists(*weights: str) -> Shape:
    """Return the fields of a tree as lists; ``weights``: the lists besides ``weight``."""
    texts = dict.fromkeys(("names", "kinds", "objects", "sources"), _TEXTS)
    numbers = ("parent", "name", "kind", "object", "source", "places", "weight", *weights)
    pruned = _record({"nodes": {"type": "integer"}, "ratio_below": {"type": "number"}}, "pruned")
    return {**texts, **dict.fromkeys(numbers, _NUMBERS), "pruned": pruned}


def tree(*, of_both: bool = False) -> Shape:
    """Return the schema of a flame graph as lists (perfcase.stacks.tree), of one capture or of two."""
    event = _record({"event": _TEXT, "unit": _TEXT, "sample_count": {"type": "integer"}}, "sampled_event")
    texts = ("title", "what", "unit", *(("a_name", "b_name") if of_both else ()))
    aside = _record({"what": _TEXT, "weight": {"type": "number"}}, "left_out")
    weights = {side: {"type": "number"} for side in (("weight", "base") if of_both else ("weight",))}
    conditions = {"how": {"enum": ["include", "exclude"]}, "name": _TEXT, **weights}
    without = _record(conditions, "stacks_left_out_of_both" if of_both else "stacks_left_out")
    return _record(
        {
            **dict.fromkeys(texts, _TEXT),
            "events": {"type": "array", "items": event},
            **({} if of_both else {"left_out": {"type": "array", "items": aside}}),
            "stacks_left_out": {"type": "array", "items": without},
            "is_inverted": {"type": "boolean"},
            "whole_objects": _TEXTS,
            **_lists("self", *(("base", "base_self") if of_both else ())),
        },
        "tree_of_both" if of_both else "tree",
    )


def diff() -> Shape:
    """Return the schema of a diff: a comparison, only its lines (against a baseline), or the callers of a function."""
    line = _columns(page.COLUMNS, "difference", unknown=page.UNKNOWN)
    side = _record({"name": _TEXT, "duration_ns": {"type": "integer"}}, "side")
    whole = _record(
        {
            "a": side,
            "b": side,
            "in_short": {"type": "array", "items": _TEXT},
            "findings": _list(Change),
            "comparability": _list(Condition),
            "per": _one_of([_record({"event": _TEXT, "a": {"type": "number"}, "b": {"type": "number"}}, "per"), _NULL]),
            "settings": _list(Setting),
            "not_compared": _list(NotCompared),
            "stacks": _one_of([_dataclass(stack_page.StackComparison), _NULL]),
            "noise_count": {"type": "integer"},
            "differences": {"type": "array", "items": line},
        },
        "comparison",
    )
    callers = _columns(stack_page.CALLER_COLUMNS, "caller")
    return _one_of([whole, {"type": "array", "items": line}, {"type": "array", "items": callers}])


def annotated() -> Shape:
    """Return the schema of the rows of a function, or of the objects that have it."""
    rows, objects = (
        {name: {"description": text} for name, (_, text) in columns.items()}
        for columns in (annotate.COLUMNS | annotate.SOURCE_TEXT, annotate.OBJECTS)
    )
    of_function = _record(rows, "annotated", annotate.COLUMNS)
    return {"type": "array", "items": _one_of([of_function, _record(objects, "objects of a function")])}


def history() -> Shape:
    """Return the schema of a history: a row for each capture, or for each figure if all are tried."""
    followed = _columns(timeline.COLUMNS, "history", required=["capture", "problem"])
    return {"type": "array", "items": _one_of([followed, _columns(scan.COLUMNS, "banded")])}


def _list(kind: type) -> Shape:
    """Return the schema of a list of records of a dataclass."""
    return {"type": "array", "items": _dataclass(kind)}


def _dataclass(kind: type) -> Shape:
    """Return the schema of a record of a dataclass."""
    made = TypeAdapter(kind).json_schema(ref_template="#/$defs/{model}")
    return _inlined(made, made.get("$defs", {}))


def _inlined(shape: Any, known: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Replace references in a schema by what they refer to."""
    if isinstance(shape, list):
        return [_inlined(each, known) for each in shape]
    if not isinstance(shape, dict):
        return shape
    if "$ref" in shape:
        return _inlined(known[shape["$ref"].rpartition("/")[2]], known)
    return {name: _inlined(value, known) for name, value in shape.items() if name != "$defs"}


def _columns(
    columns: Mapping[str, str],
    title: str,
    required: Iterable[str] | None = None,
    unknown: Collection[str] | None = None,
) -> Shape:
    """Return the schema of a row, from the SQL types of its columns; ``unknown``: those that may be NULL, by default all."""
    texts = {"items": {"type": ["string", "null"]}}
    shapes = {
        name: {
            "type": [_TYPES[kind], "null"] if unknown is None or name in unknown else _TYPES[kind],
            **(texts if kind.endswith("[]") else {}),
        }
        for name, kind in columns.items()
    }
    return _record(shapes, title, required)


def _record(properties: dict[str, Shape], title: str, required: Iterable[str] | None = None) -> Shape:
    names = list(properties if required is None else required)
    return {"type": "object", "title": title, "properties": properties, "required": names}


def _one_of(shapes: Iterable[Shape]) -> Shape:
    listed = list(shapes)
    return listed[0] if len(listed) == 1 else {"anyOf": listed}

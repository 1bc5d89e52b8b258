"""The parameters of routes, made from the requests of operations: names, bounds and words are theirs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Annotated, Any, TypeVar

from fastapi import Path, Query
from pydantic import Field as BodyField

from perfcase.operations.request import REQUIRED, Asked, Field, fields_of

_T = TypeVar("_T", bound=Asked)

ROWS = 1000
"""How many rows a route answers by default, where the operation does not say."""
_FORMAT = "json"
_LIMIT = "limit"


def query_of(
    cls: type[_T], *, path: Collection[str] = (), without: Collection[str] = (), **defaults: object
) -> Callable[..., Awaitable[_T]]:
    """What makes the request of a route's query, for ``Depends``. ``path``: fields that stand in the route's path; ``without``:
    fields that it does not have; ``defaults``: other ones than the operation's own."""
    fields = {_name(field): field for field in _fields(cls, without)}

    async def made(**given: Any) -> _T:  # noqa: ANN401 - as the request has it
        return cls(**{field.name: given[name] for name, field in fields.items()})

    parameters = []
    for name, field in fields.items():
        bounds, default = _bounds(field), defaults.get(field.name, _default(field))
        if field.option.example is not None:
            bounds["examples"] = [field.option.example]
        kind = Path if field.name in path else Query
        told = Annotated[_kind(field), kind(description=_described(field), **bounds)]
        given = inspect.Parameter.empty if default is REQUIRED else default
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=told))
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] - FastAPI asks for it
    return made


def body_of(cls: type[Asked], *, without: Collection[str] = (), **defaults: object) -> dict[str, Any]:
    """The same fields as ``pydantic.create_model`` takes them, for a request's body."""
    found = {}
    for field in _fields(cls, without):
        default = defaults.get(field.name, _default(field))
        more: dict[str, Any] = _bounds(field)
        if field.option.example is not None:
            more["examples"] = [[field.option.example] if field.is_many else field.option.example]
        info = BodyField(... if default is REQUIRED else default, description=_described(field), **more)
        found[_name(field)] = (_kind(field), info)
    return found


def request_of(cls: type[_T], body: object, **more: object) -> _T:
    """The request that a body of ``body_of`` is."""
    names = {_name(field): field.name for field in fields_of(cls)}
    return cls(**{name: getattr(body, told) for told, name in names.items() if hasattr(body, told)}, **more)


def _fields(cls: type[Asked], without: Collection[str]) -> Iterator[Field]:
    return (field for field in fields_of(cls) if not field.option.is_of_terminals and field.name not in without)


def _name(field: Field) -> str:
    return field.option.query or field.name


def _default(field: Field) -> object:
    """What a route takes where nothing is said: rows as JSON, and not all of them."""
    if field.option.for_people:
        return _FORMAT
    if field.name == _LIMIT:
        return field.default or ROWS
    return None if field.is_many else field.default


def _kind(field: Field) -> Any:  # noqa: ANN401 - a type
    """A field's type in a route, which has no choices that only people at a terminal have, and no limit of none."""
    if field.name == _LIMIT:
        return int
    return field.without(field.option.for_people).annotation


def _bounds(field: Field) -> dict[str, Any]:
    option = field.option
    least = 1 if field.name == _LIMIT else option.min
    bounds = {"ge": least, "le": option.max, "max_length": option.length_max}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _described(field: Field) -> str:
    """The field in words; options are called as the query calls them."""
    if field.name == _LIMIT:
        return "At most this many rows."
    told = re.sub(r"--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), field.option.help)
    return told if told.endswith(".") else f"{told}."

"""Make the parameters of routes from the requests of operations, with their names, bounds and help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Annotated, Any, TypeVar

from fastapi import Path, Query
from pydantic import Field as BodyField

from perfcase.operations.request import REQUIRED, BaseRequest, Field, fields_of
from perfcase_api.question import FORMAT, ROWS

_T = TypeVar("_T", bound=BaseRequest)

_LIMIT = "limit"


def query_of(
    cls: type[_T], *, path: Collection[str] = (), without: Collection[str] = (), **defaults: object
) -> Callable[..., Awaitable[_T]]:
    """Return a dependency (``Depends``) that makes the request from the query of a route.

    ``path``: fields in the path of the route; ``without``: fields that the route does not have; ``defaults``: other defaults.
    """
    fields = {_name(field): field for field in _fields(cls, without)}

    async def made(**given: Any) -> _T:  # noqa: ANN401 - as the request has it
        return cls(**{field.name: given[name] for name, field in fields.items()})

    parameters = []
    for name, field in fields.items():
        bounds, default = _bounds(field), defaults.get(field.name, _default(field))
        if field.option.example is not None:
            bounds["examples"] = [field.option.example]
        kind = Path if field.name in path else Query
        hint = Annotated[_kind(field), kind(description=_described(field), **bounds)]
        given = inspect.Parameter.empty if default is REQUIRED else default
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=hint))
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] - FastAPI asks for it
    return made


def body_of(cls: type[BaseRequest], *, without: Collection[str] = (), **defaults: object) -> dict[str, Any]:
    """Return the same fields for ``pydantic.create_model``, for the body of a request."""
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
    """Return the request of a body with the fields of ``body_of``."""
    names = {_name(field): field.name for field in fields_of(cls)}
    return cls(**{name: getattr(body, given) for given, name in names.items() if hasattr(body, given)}, **more)


def _fields(cls: type[BaseRequest], without: Collection[str]) -> Iterator[Field]:
    return (field for field in fields_of(cls) if not field.option.is_of_terminals and field.name not in without)


def _name(field: Field) -> str:
    return field.option.query or field.name


def _default(field: Field) -> object:
    """Return the default of a route: rows as JSON, and not all of them."""
    if field.option.for_people:
        return FORMAT
    if field.name == _LIMIT:
        return field.default or ROWS
    return None if field.is_many else field.default


def _kind(field: Field) -> Any:  # noqa: ANN401 - a type
    """Return the type of a field in a route, without the choices for people, and with a limit."""
    if field.name == _LIMIT:
        return int
    return field.without(field.option.for_people).annotation


def _bounds(field: Field) -> dict[str, Any]:
    option = field.option
    least = 1 if field.name == _LIMIT else option.min
    bounds = {"ge": least, "le": option.max, "max_length": option.length_max}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _described(field: Field) -> str:
    """Return the help of a field, with the names of options in the query."""
    if field.name == _LIMIT:
        return "Return at most this many rows."
    text = re.sub(r"--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), field.option.help)
    return text if text.endswith(".") else f"{text}."

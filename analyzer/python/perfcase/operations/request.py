"""Describe a request: the meaning and bounds of each field, once for the command line, the routes and Python.

    @dataclass(frozen=True, kw_only=True)
    class Request(BaseRequest):
        where: Annotated[str | None, Option("A condition.", flags=("--where", "-w"), metavar="SQL")] = None

A field with an ``Option`` is an option of the command and a parameter of the route (``perfcase.cli.options``, ``perfcase_api.asked``).
A field without one is for programs only: no command and no route has it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from perfcase.errors import PerfcaseError

_KINDS: dict[type, str] = {str: "text", int: "a whole number", bool: "true or false"}

_LARGEST = 2**63 - 1
"""DuckDB counts rows in 64 bits."""

REQUIRED = dataclasses.MISSING
"""The default of a field that has none."""

_T = TypeVar("_T", bound="BaseRequest")


@dataclass(frozen=True)
class Option:
    """The meaning and bounds of a field."""

    help: str
    besides: str = ""
    """More help, for the command line only."""
    flags: tuple[str, ...] = ()
    """Its names on the command line; default: ``--name``."""
    metavar: str | None = None
    min: int | None = None
    max: int | None = None
    """The largest number that a server takes."""
    length_max: int | None = None
    """How many characters of a text are taken; how many entries of a list a server takes."""
    example: str | None = None
    query: str | None = None
    """Its name in a route; default: the name of the field."""
    is_argument: bool = False
    """Whether it is an argument on the command line, without a flag."""
    is_of_terminals: bool = False
    """Whether only the command line has it."""
    is_default_shown: bool = True
    for_people: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Choices that only the command line has, and what they are for."""
    complete: Callable[[str], list[tuple[str, str]]] | None = None
    """What a shell completes it with."""


@dataclass(frozen=True)
class Field:
    """A field of a request that people and programs may set."""

    name: str
    kind: type | None
    """str, int or bool; None where there are choices."""
    choices: tuple[str, ...]
    is_many: bool
    is_optional: bool
    default: Any
    option: Option

    def without(self, choices: Collection[str]) -> Field:
        """Return the field without some of its choices."""
        return dataclasses.replace(self, choices=tuple(choice for choice in self.choices if choice not in choices))

    @property
    def annotation(self) -> Any:  # noqa: ANN401 - a type
        """Return its type for command lines and routes: many are a list."""
        one = Literal[self.choices] if self.choices else self.kind
        whole = list[one] if self.is_many else one
        return whole | None if self.is_optional or self.is_many else whole


@dataclass(frozen=True, kw_only=True)
class BaseRequest:
    """A request, the base class.

    Raises:
        PerfcaseError: a field is not one of its choices, or out of its bounds (usage).
    """

    def __post_init__(self) -> None:
        for field in fields_of(type(self)):
            value = getattr(self, field.name)
            if field.is_many and not isinstance(value, tuple):
                value = () if value is None else (value,) if isinstance(value, str) else tuple(value)
                object.__setattr__(self, field.name, value)
            _check(field, value)


def _check(field: Field, value: object) -> None:
    if value is None and field.is_optional:
        return
    for each in value if isinstance(value, tuple) else (value,):
        if field.choices and each not in field.choices:
            raise PerfcaseError("usage", f"{field.name}: {each} is not one of {', '.join(field.choices)}")
        if field.kind and not isinstance(each, field.kind):
            raise PerfcaseError("usage", f"{field.name}: {each!r} is not {_KINDS[field.kind]}")
    length_max = field.option.length_max
    if isinstance(value, str) and length_max and len(value) > length_max:
        raise PerfcaseError(
            "usage", f"{field.name}: {len(value):,} characters; {length_max:,} are allowed", "make it shorter"
        )
    if isinstance(value, int) and field.option.min is not None and value < field.option.min:
        raise PerfcaseError("usage", f"{field.name}: {value} is less than {field.option.min}")
    if isinstance(value, int) and value > _LARGEST:
        raise PerfcaseError("usage", f"{field.name}: {value} is more than {_LARGEST}")


@cache
def fields_of(cls: type[BaseRequest]) -> tuple[Field, ...]:
    """Return the fields of a request that people and programs may set, in order."""
    hints = get_type_hints(cls, include_extras=True)
    return tuple(
        _field(each, *get_args(hints[each.name]))
        for each in dataclasses.fields(cls)
        if get_origin(hints[each.name]) is Annotated
    )


def _field(each: dataclasses.Field, kind: Any, option: Option) -> Field:  # noqa: ANN401 - a type
    kinds = get_args(kind) if get_origin(kind) is not Literal else ()
    is_optional, is_many = type(None) in kinds, get_origin(kind) is tuple
    one = kinds[0] if is_optional or is_many else kind
    choices = get_args(one) if get_origin(one) is Literal else ()
    return Field(each.name, None if choices else one, choices, is_many, is_optional, each.default, option)


def operation_of(asked: BaseRequest) -> str:
    """Return the name of the operation of a request."""
    return type(asked).__module__.rpartition(".")[2]


def encode(asked: BaseRequest) -> dict[str, Any]:
    """Return a request as values of JSON."""
    return {each.name: getattr(asked, each.name) for each in dataclasses.fields(asked)}


def decode(cls: type[_T], values: Mapping[str, Any]) -> _T:
    """Return the request of which ``encode`` made these values."""
    return cls(**{name: _frozen(value) for name, value in values.items()})


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value

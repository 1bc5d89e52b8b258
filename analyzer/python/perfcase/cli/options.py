"""Make the options of a command from the request of its operation."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_type_hints

import typer

from perfcase.case import budget
from perfcase.operations.request import REQUIRED, BaseRequest, Field, fields_of


def from_request(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with the fields of a request as options, in place of its parameter for that request."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    made: dict[str, type[BaseRequest]] = {}
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        if isinstance(hint, type) and issubclass(hint, BaseRequest):
            made[parameter.name] = hint
            parameters += map(_parameter, fields_of(hint))
        else:
            parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))

    def called(**given: object) -> object:
        for name, cls in made.items():
            given[name] = cls(**dict(_given(cls, given)))
        return command(**given)

    called.__doc__ = command.__doc__
    called.__module__ = command.__module__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] - typer asks for it
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def with_memory(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with the option --memory, for itself and for the processes that it starts."""
    own = inspect.signature(command, eval_str=True)
    info = typer.Option(
        "--memory",
        metavar="SIZE",
        help="How much memory a question may take, such as 2G. What does not fit goes to files in the user's cache, or in TMPDIR. "
        "Default: 360M, and 64M more for each CPU beyond four.",
        callback=lambda size: size and str(budget.parsed(size)),
        envvar=budget.MEMORY,
        show_default=False,
        show_envvar=True,
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    memory = inspect.Parameter("memory", kind, default=None, annotation=Annotated[str | None, info])

    def called(**given: object) -> object:
        if size := given.pop("memory"):
            os.environ[budget.MEMORY] = str(size)
        return command(**given)

    called.__doc__ = command.__doc__
    called.__module__ = command.__module__
    parameters = [p.replace(kind=kind) for p in own.parameters.values()] + [memory]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] - typer asks for it
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _given(cls: type[BaseRequest], given: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Take the fields of a request from the options of a command."""
    for field in fields_of(cls):
        yield field.name, given.pop(field.name)


def _parameter(field: Field) -> inspect.Parameter:
    """Return a field as a parameter of typer."""
    option = field.option
    text = (
        ", ".join([*(f"{choice} ({what})" for choice, what in option.for_people.items()), option.help]) + option.besides
    )
    more = {"metavar": option.metavar, "help": text, "show_default": option.is_default_shown, "min": option.min}
    more["autocompletion"] = option.complete
    info = typer.Argument(**more) if option.is_argument else typer.Option(*_flags(field), **more)
    default = inspect.Parameter.empty if field.default is REQUIRED else None if field.is_many else field.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(field.name, kind, default=default, annotation=Annotated[field.annotation, info])


def _flags(field: Field) -> tuple[str, ...]:
    return field.option.flags or (f"--{field.name.replace('_', '-')}",)

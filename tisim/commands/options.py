"""Options that stand for parameters of a public function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import takewhile
from typing import TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., object])

_TYPES: dict[str, type] = {"int": int, "float": float}


def parameter_option(
    function: Callable[..., object],
    parameter: str,
    *names: str,
    metavar: str,
    multiple: bool = False,
    type: click.IntRange | None = None,
) -> Callable[[_F], _F]:
    """A click option that takes its help, type and default from a parameter of a function.

    The function has a numpydoc docstring. The help is the first paragraph of the parameter's
    description; further paragraphs are for those who call the function.
    """
    known = inspect.signature(function).parameters[parameter]
    required = known.default is inspect.Parameter.empty
    value_type = type or _TYPES.get(str(known.annotation).partition(" ")[0], str)
    text = parameter_help(function, parameter) + (" Repeatable." if multiple else "")
    return click.option(
        *names, metavar=metavar, type=value_type, required=required, multiple=multiple, help=text
    )


def parameter_help(function: Callable[..., object], parameter: str) -> str:
    """The first paragraph of a parameter's description, on one line and without mark-up."""
    lines = (inspect.getdoc(function) or parameter).splitlines()
    place = next(i for i, line in enumerate(lines) if parameter in line.split(", "))
    description = lines[place + 1 :]
    words = takewhile(lambda line: line.startswith(" "), description)
    return " ".join(line.strip() for line in words).replace("`", "")

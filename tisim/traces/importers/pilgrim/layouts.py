"""The fields of each call in Pilgrim's table of signatures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a call.

    Attributes
    ----------
    name
        As in MPI; empty where nothing needs it.
    kind
        ``i32``, ``peer``, ``request`` and so on.
    length
        The field that says how many there are; empty: it is one value.
    """

    name: str
    kind: str
    length: str


@cache
def functions() -> tuple[str, ...]:
    """The names of functions without ``MPI_``, by their numbers."""
    text = resources.files(__package__).joinpath("functions.txt").read_text()
    return tuple(text.partition("\n")[2].split())


@cache
def layouts() -> dict[str, tuple[Field, ...]]:
    """The fields of the calls that become lines, by the name of the function."""
    text = resources.files(__package__).joinpath("layouts.txt").read_text()
    found: dict[str, tuple[Field, ...]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            function, *fields = line.split()
            found[function] = tuple(map(_field, fields))
    return found


def _field(text: str) -> Field:
    name, _, kind = text.rpartition(":")
    kind, _, length = kind.removesuffix("]").partition("[")
    return Field(name, kind, length)

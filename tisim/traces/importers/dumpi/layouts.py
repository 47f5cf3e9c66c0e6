"""The fields of each call in DUMPI's binary form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

#: The number that ends the stream of calls.
END_OF_STREAM = 293


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a call.

    Attributes
    ----------
    name
        As in MPI; empty where nothing needs it.
    kind
        ``i32``, ``i16[]``, ``text``, ``status`` and so on.
    at_root_only
        Whether only the root's record has it.
    """

    name: str
    kind: str
    at_root_only: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The name of a function and the fields of its calls."""

    function: str
    fields: tuple[Field, ...]


@cache
def layouts() -> dict[int, Layout]:
    """The layout of each function, by its number."""
    text = resources.files(__package__).joinpath("layouts.txt").read_text()
    found: dict[int, Layout] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            number, function, *fields = line.split()
            found[int(number)] = Layout(function, tuple(map(_field, fields)))
    return found


def _field(text: str) -> Field:
    name, _, kind = text.rpartition(":")
    return Field(name, kind.removesuffix("?"), kind.endswith("?"))

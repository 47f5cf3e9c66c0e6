"""Checks that the data of a file have the form that a type describes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import (
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)


def type_mismatch(value: object, kind: object, place: str = "") -> str | None:
    """Describe where a JSON value does not have the form of a type; None if it fits.

    Types are those that describe JSON: numbers, strings, lists, tuples, mappings with string keys,
    typed dictionaries, unions and literals; ``object`` accepts everything. Integers fit a float.
    """
    if is_typeddict(kind):
        return _key_mismatch(value, kind, place)
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (Required, NotRequired):
        return type_mismatch(value, inner[0], place)
    if origin in (Union, UnionType):
        mismatches = [type_mismatch(value, option, place) for option in inner]
        return None if None in mismatches else mismatches[0]
    if origin is Literal:
        return None if value in inner else _described(value, place)
    if origin in (dict, Mapping):
        if not isinstance(value, dict):
            return _described(value, place)
        parts = [(entry, inner[1], f"{place}.{key}") for key, entry in value.items()]
    elif origin is list:
        if not isinstance(value, list):
            return _described(value, place)
        parts = [(entry, inner[0], f"{place}[{n}]") for n, entry in enumerate(value)]
    elif origin is tuple:
        if not isinstance(value, list) or len(value) != len(inner):
            return _described(value, place)
        parts = [(entry, inner[n], f"{place}[{n}]") for n, entry in enumerate(value)]
    else:
        return None if _is_plain(value, origin) else _described(value, place)
    return next((why for part in parts if (why := type_mismatch(*part)) is not None), None)


def _key_mismatch(value: object, kind: object, place: str) -> str | None:
    if not isinstance(value, dict):
        return _described(value, place)
    hints, required = _keys_of(kind)
    lacking = required - value.keys()
    if lacking:
        return f"{place.lstrip('.') or 'it'} has no {min(lacking)!r}"
    parts = ((value[key], hints[key], f"{place}.{key}") for key in hints.keys() & value.keys())
    return next((why for part in parts if (why := type_mismatch(*part)) is not None), None)


@cache
def _keys_of(kind: object) -> tuple[dict[str, object], frozenset[str]]:
    """Return the types of a typed dictionary's keys, and its required keys.

    If the module's annotations are strings, `NotRequired` keys are among the required ones of the
    class.
    """
    hints = get_type_hints(kind, include_extras=True)
    optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    return hints, kind.__required_keys__ - optional  # type: ignore[attr-defined]


def _is_plain(value: object, kind: object) -> bool:
    if kind is object:
        return True
    if kind in (int, float):
        is_number = isinstance(value, int if kind is int else int | float)
        return is_number and not isinstance(value, bool) and _is_in_range(value)
    return isinstance(value, NoneType if kind is None else kind)  # type: ignore[arg-type]


def _is_in_range(value: object) -> bool:
    return not isinstance(value, int) or abs(value) <= sys.float_info.max


def _described(value: object, place: str) -> str:
    shown = f"{value!r}"[:40]
    return f"{place.lstrip('.') or 'it'} is {shown}"
